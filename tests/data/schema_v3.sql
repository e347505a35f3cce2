-- A storage of schema version 3. Never edit: later versions must open it.
PRAGMA application_id = 1651459954;
BEGIN TRANSACTION;
CREATE TABLE bogrape_schema (
	version INTEGER NOT NULL, 
	package VARCHAR(100) NOT NULL
);
INSERT INTO "bogrape_schema" VALUES(3,'0.1.0');
CREATE TABLE bogrape_studies (
	id INTEGER NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	settings TEXT NOT NULL, 
	changes TEXT DEFAULT '[]' NOT NULL, 
	key_version VARCHAR(100) NOT NULL, 
	revision INTEGER NOT NULL, 
	n_trials INTEGER NOT NULL, 
	digest VARCHAR(32) DEFAULT '00000000000000000000000000000000' NOT NULL, 
	checksum VARCHAR(16) DEFAULT '' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "bogrape_studies" VALUES(1,'kept','{"space": {"n_nodes": 5, "labels": 2, "features": 0, "directed": false, "connected": true, "rules": [], "edge_labels": 0}, "kernel": "ssp", "surrogate": null, "noise": "fit", "feature_kernel": true, "alpha": null, "beta": null, "restarts": 5, "clip": 1000.0, "most_observations": 1000, "acquisition": {"name": "lcb", "kappa": 1.0}, "method": "auto", "solver": null, "options": null, "time_limit": 60.0, "n_initial": 6, "seed": 0, "direction": "minimize", "retries": 0}','[{"from_trial": 5, "time": "2026-11-16T17:48:25.918+00:00", "changed": {"noise": [1e-06, "fit"]}}]','igraph 1.0.0',11,5,'85b1d5e85df99db652176f624440ace4','ff67c95c4d404cfa');
CREATE TABLE bogrape_trials (
	study INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	"key" VARCHAR(64), 
	state VARCHAR(10) NOT NULL, 
	graph TEXT NOT NULL, 
	value DOUBLE, 
	noise DOUBLE, 
	origin VARCHAR(10) NOT NULL, 
	worker VARCHAR(200), 
	attempts INTEGER NOT NULL, 
	reason TEXT, 
	seed INTEGER, 
	certificate TEXT NOT NULL, 
	hyperparameters TEXT NOT NULL, 
	details TEXT DEFAULT '{}' NOT NULL, 
	created VARCHAR(40) NOT NULL, 
	asked VARCHAR(40), 
	finished VARCHAR(40), 
	version VARCHAR(100) NOT NULL, 
	checksum VARCHAR(16) NOT NULL, 
	PRIMARY KEY (study, number), 
	CONSTRAINT bogrape_one_trial_a_graph UNIQUE (study, "key"), 
	FOREIGN KEY(study) REFERENCES bogrape_studies (id)
);
INSERT INTO "bogrape_trials" VALUES(1,0,11,'12ad075de32b323e3721894b0a9f68c327799ed0e30a8ce84e3726fa305d45d5','complete','{"n_nodes":5,"directed":false,"edges":[[0,2],[0,3],[1,2],[3,4]],"labels":[1,0,1,1,1]}',6.0,0.25,'initial','me',1,NULL,1826701615,'{}','{}','{"corrections":[{"value":6.0,"reason":null,"corrected":"2026-11-16T17:48:25.977+00:00","noise":0.25,"because":"misread"},{"value":5.0,"reason":null,"corrected":"2026-11-16T17:48:26.060+00:00","noise":0.5}]}','2026-11-16T17:48:25.294+00:00','2026-11-16T17:48:25.294+00:00','2026-11-16T17:48:25.402+00:00','0.1.0','e78480c2f0da8670');
INSERT INTO "bogrape_trials" VALUES(1,1,5,'86e591fd02931fc2ae9f111bcfa85273e49c33370ea795923ae5dede514627ee','failed','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,3],[1,4],[2,3],[2,4],[3,4]],"labels":[0,0,0,0,0]}',NULL,NULL,'initial','you',1,'the flask broke',1121323794,'{}','{}','{}','2026-11-16T17:48:25.505+00:00','2026-11-16T17:48:25.505+00:00','2026-11-16T17:48:25.592+00:00','0.1.0','606a60d183347e3a');
INSERT INTO "bogrape_trials" VALUES(1,2,6,'04ac0f85d0912b480211ca04893e6bc05e690c590fa1916c08ed10d155a771cb','pending','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,3],[1,4],[2,3],[2,4],[3,4]],"labels":[1,1,0,0,1]}',NULL,NULL,'initial','me',1,NULL,2103381653,'{}','{}','{}','2026-11-16T17:48:25.654+00:00','2026-11-16T17:48:25.654+00:00',NULL,'0.1.0','7a3980d0c9dbc350');
INSERT INTO "bogrape_trials" VALUES(1,3,7,'fc7a3e122345b36bda0a558a9e398daf53d42899e665e011abc67ee6e4dce534','complete','{"n_nodes":5,"directed":false,"edges":[[0,4],[1,2],[1,4],[2,3]],"labels":[0,0,1,1,0]}',7.5,1.0,'added',NULL,0,NULL,NULL,'{}','{}','{}','2026-11-16T17:48:25.765+00:00',NULL,'2026-11-16T17:48:25.765+00:00','0.1.0','c5b89e166093822a');
INSERT INTO "bogrape_trials" VALUES(1,4,8,NULL,'queued','{"n_nodes":5,"directed":false,"edges":[[0,2],[0,3],[1,2],[3,4]],"labels":[1,0,1,1,1]}',NULL,NULL,'repeat',NULL,0,NULL,NULL,'{}','{}','{}','2026-11-16T17:48:25.854+00:00',NULL,NULL,'0.1.0','0cd91f0027845fd7');
CREATE INDEX bogrape_trials_by_revision ON bogrape_trials (study, revision);
COMMIT;
