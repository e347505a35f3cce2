-- A storage of schema version 2. Never edit: later versions must open it.
PRAGMA application_id = 1651459954;
BEGIN TRANSACTION;
CREATE TABLE bogrape_schema (
	version INTEGER NOT NULL, 
	package VARCHAR(100) NOT NULL
);
INSERT INTO "bogrape_schema" VALUES(2,'0.1.0');
CREATE TABLE bogrape_studies (
	id INTEGER NOT NULL, 
	name VARCHAR(100) NOT NULL, 
	settings TEXT NOT NULL, 
	key_version VARCHAR(100) NOT NULL, 
	revision INTEGER NOT NULL, 
	n_trials INTEGER NOT NULL, changes TEXT NOT NULL DEFAULT '[]', digest VARCHAR(32) NOT NULL DEFAULT '00000000000000000000000000000000', checksum VARCHAR(16) NOT NULL DEFAULT '', 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "bogrape_studies" VALUES(1,'kept','{"space": {"n_nodes": 5, "labels": 2, "features": 0, "directed": false, "connected": true, "rules": [], "edge_labels": 0}, "kernel": "ssp", "noise": "fit", "acquisition": {"name": "lcb", "kappa": 1.0}, "method": "auto", "time_limit": 60.0, "n_initial": 6, "seed": 0, "direction": "minimize", "retries": 0}','igraph 1.0.0',10,5,'[{"from_trial": 5, "time": "2026-11-16T11:34:50.471+00:00", "changed": {"noise": [1e-06, "fit"]}}]','9e21b4083038e59bbc64128d279bba0d','bdf433e49cfc2e69');
CREATE TABLE bogrape_trials (
	study INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	"key" VARCHAR(64), 
	state VARCHAR(10) NOT NULL, 
	graph TEXT NOT NULL, 
	value DOUBLE, 
	origin VARCHAR(10) NOT NULL, 
	worker VARCHAR(200), 
	attempts INTEGER NOT NULL, 
	reason TEXT, 
	seed INTEGER, 
	certificate TEXT NOT NULL, 
	hyperparameters TEXT NOT NULL, 
	created VARCHAR(40) NOT NULL, 
	asked VARCHAR(40), 
	finished VARCHAR(40), 
	version VARCHAR(100) NOT NULL, 
	checksum VARCHAR(16) NOT NULL, details TEXT NOT NULL DEFAULT '{}', 
	PRIMARY KEY (study, number), 
	CONSTRAINT bogrape_one_trial_a_graph UNIQUE (study, "key"), 
	FOREIGN KEY(study) REFERENCES bogrape_studies (id)
);
INSERT INTO "bogrape_trials" VALUES(1,0,9,'12ad075de32b323e3721894b0a9f68c327799ed0e30a8ce84e3726fa305d45d5','complete','{"n_nodes":5,"directed":false,"edges":[[0,2],[0,3],[1,2],[3,4]],"labels":[1,0,1,1,1]}',6.0,'initial','me',1,NULL,1826701615,'{}','{}','2026-11-15T08:21:10.106+00:00','2026-11-15T08:21:10.106+00:00','2026-11-15T08:21:10.128+00:00','0.1.0','8f7704afa1531329','{"corrections":[{"value":6.0,"reason":null,"corrected":"2026-11-16T11:34:50.400+00:00"},{"value":7.0,"reason":null,"corrected":"2026-11-16T11:34:50.433+00:00"}]}');
INSERT INTO "bogrape_trials" VALUES(1,1,4,'86e591fd02931fc2ae9f111bcfa85273e49c33370ea795923ae5dede514627ee','failed','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,3],[1,4],[2,3],[2,4],[3,4]],"labels":[0,0,0,0,0]}',NULL,'initial','you',1,'the flask broke',1121323794,'{}','{}','2026-11-15T08:21:10.163+00:00','2026-11-15T08:21:10.163+00:00','2026-11-15T08:21:10.189+00:00','0.1.0','a4614a1a0661e4e7','{}');
INSERT INTO "bogrape_trials" VALUES(1,2,5,'04ac0f85d0912b480211ca04893e6bc05e690c590fa1916c08ed10d155a771cb','pending','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,3],[1,4],[2,3],[2,4],[3,4]],"labels":[1,1,0,0,1]}',NULL,'initial','me',1,NULL,2103381653,'{}','{}','2026-11-15T08:21:10.207+00:00','2026-11-15T08:21:10.207+00:00',NULL,'0.1.0','ae567246edcb399f','{}');
INSERT INTO "bogrape_trials" VALUES(1,3,6,'4ae9fb91bbc22dab0e5e185e031f96ca3d7fcfbf7136811255ed8c08e4d05eda','complete','{"n_nodes":5,"directed":false,"edges":[[0,2],[0,3],[0,4],[1,2],[1,4],[2,3],[2,4],[3,4]],"labels":[1,0,0,0,0]}',7.5,'added',NULL,0,NULL,NULL,'{}','{}','2026-11-15T08:21:10.238+00:00',NULL,'2026-11-15T08:21:10.238+00:00','0.1.0','006af16eefb03f01','{}');
INSERT INTO "bogrape_trials" VALUES(1,4,7,NULL,'queued','{"n_nodes":5,"directed":false,"edges":[[0,2],[0,3],[1,2],[3,4]],"labels":[1,0,1,1,1]}',NULL,'repeat',NULL,0,NULL,NULL,'{}','{}','2026-11-15T08:21:10.261+00:00',NULL,NULL,'0.1.0','c04b9a1924637dac','{}');
CREATE INDEX bogrape_trials_by_revision ON bogrape_trials (study, revision);
COMMIT;
