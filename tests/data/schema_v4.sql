-- A storage of schema version 4. Never edit: later versions must open it.
PRAGMA application_id = 1651459954;
BEGIN TRANSACTION;
CREATE TABLE bogrape_schema (
	version INTEGER NOT NULL, 
	package VARCHAR(100) NOT NULL
);
INSERT INTO "bogrape_schema" VALUES(4,'0.1.0');
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
INSERT INTO "bogrape_studies" VALUES(1,'kept','{"space": {"n_nodes": 5, "labels": 2, "features": 0, "directed": false, "connected": true, "rules": [], "edge_labels": 0}, "kernel": "rbf", "surrogate": null, "noise": "fit", "feature_kernel": true, "alpha": null, "beta": null, "restarts": 5, "clip": 1000.0, "most_observations": 1000, "acquisition": {"name": "ei", "xi": 0.0}, "method": "sample", "solver": null, "options": null, "time_limit": 10.0, "n_evaluations": null, "n_initial": 3, "seed": 0, "direction": "minimize", "retries": 0, "properties": null, "combine": null, "reference": null}','[]','igraph 1.0.0',9,5,'b5ccb159223ecac2ab4b4baed9ccbd9b','2aa70f49e56a9dad');
INSERT INTO "bogrape_studies" VALUES(2,'several','{"space": {"n_nodes": 5, "labels": 2, "features": 0, "directed": false, "connected": true, "rules": [], "edge_labels": 0}, "kernel": "rbf", "surrogate": null, "noise": "fit", "feature_kernel": true, "alpha": null, "beta": null, "restarts": 5, "clip": 1000.0, "most_observations": 1000, "acquisition": {"name": "ei", "xi": 0.0}, "method": "sample", "solver": null, "options": null, "time_limit": 10.0, "n_evaluations": null, "n_initial": 3, "seed": 0, "direction": "maximize", "retries": 0, "properties": {"qed": {"goal": "maximize", "weight": 1.0}, "sa": {"goal": "minimize", "weight": 1.0}}, "combine": "pareto", "reference": {"qed": 0.0, "sa": 10.0}}','[]','igraph 1.0.0',7,3,'00bbf52959a3e55b9bd2bcf71191ad4f','a14d4f1bbac83b92');
CREATE TABLE bogrape_trials (
	study INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	"key" VARCHAR(64), 
	state VARCHAR(10) NOT NULL, 
	graph TEXT NOT NULL, 
	value DOUBLE, 
	noise DOUBLE, 
	properties TEXT, 
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
INSERT INTO "bogrape_trials" VALUES(1,0,4,'668472f11e8f304aafc095c78b341db02683d6c809a53dd232df3464c767d6fa','complete','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,4],[2,3],[3,4]],"labels":[0,0,0,1,0]}',6.0,0.25,NULL,'initial','me',1,NULL,1826701615,'{}','{}','{"corrections":[{"value":5.0,"reason":null,"corrected":"2026-11-18T20:52:32.599+00:00","noise":0.5,"because":"misread"}]}','2026-11-18T20:52:32.490+00:00','2026-11-18T20:52:32.490+00:00','2026-11-18T20:52:32.536+00:00','0.1.0','6b21e9896acd8457');
INSERT INTO "bogrape_trials" VALUES(1,1,6,'9f7534039c33310f96fb04540c51bfe1e88d9758d151cd87ed33542f00cd2cda','failed','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,3],[1,2],[1,3],[1,4],[2,3],[2,4],[3,4]],"labels":[1,1,1,1,1]}',NULL,NULL,NULL,'initial','you',1,'the flask broke',1121323794,'{}','{}','{}','2026-11-18T20:52:32.653+00:00','2026-11-18T20:52:32.653+00:00','2026-11-18T20:52:32.711+00:00','0.1.0','8d9b85970c1db46e');
INSERT INTO "bogrape_trials" VALUES(1,2,7,'393800540b218ae7b01393bacfb0fb229692f435758cf6936b614f274c2a4276','pending','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,3],[2,3],[3,4]],"labels":[1,0,1,1,0]}',NULL,NULL,NULL,'initial','me',1,NULL,2103381653,'{}','{}','{}','2026-11-18T20:52:32.759+00:00','2026-11-18T20:52:32.759+00:00',NULL,'0.1.0','769f7e389987b88e');
INSERT INTO "bogrape_trials" VALUES(1,3,8,'5bed253e756e04d90d38cb79592f642d38d2f5e3a370a6634f67a62894a87191','complete','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,3],[1,4],[2,4],[3,4]],"labels":[1,1,1,1,1]}',7.5,1.0,NULL,'added',NULL,0,NULL,NULL,'{}','{}','{}','2026-11-18T20:52:32.811+00:00',NULL,'2026-11-18T20:52:32.811+00:00','0.1.0','c1e4a7a29d78a523');
INSERT INTO "bogrape_trials" VALUES(1,4,9,NULL,'queued','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,4],[2,3],[3,4]],"labels":[0,0,0,1,0]}',NULL,NULL,NULL,'repeat',NULL,0,NULL,NULL,'{}','{}','{}','2026-11-18T20:52:32.851+00:00',NULL,NULL,'0.1.0','fc6bd62bf49a9277');
INSERT INTO "bogrape_trials" VALUES(2,0,4,'668472f11e8f304aafc095c78b341db02683d6c809a53dd232df3464c767d6fa','complete','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,2],[1,4],[2,3],[3,4]],"labels":[0,0,0,1,0]}',NULL,NULL,'{"values":{"qed":0.75,"sa":3.0},"noises":{"qed":0.01}}','initial',NULL,1,NULL,1826701615,'{}','{}','{"corrections":[{"values":{"qed":0.5,"sa":3.0},"reason":null,"corrected":"2026-11-18T20:52:33.163+00:00","noises":{"qed":0.01},"because":"misread"}]}','2026-11-18T20:52:33.053+00:00','2026-11-18T20:52:33.053+00:00','2026-11-18T20:52:33.109+00:00','0.1.0','9ab0b5e5d9b27ac8');
INSERT INTO "bogrape_trials" VALUES(2,1,6,'9f7534039c33310f96fb04540c51bfe1e88d9758d151cd87ed33542f00cd2cda','complete','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,3],[1,2],[1,3],[1,4],[2,3],[2,4],[3,4]],"labels":[1,1,1,1,1]}',NULL,NULL,'{"values":{"sa":2.0},"noises":{}}','initial',NULL,1,NULL,1121323794,'{}','{}','{}','2026-11-18T20:52:33.223+00:00','2026-11-18T20:52:33.223+00:00','2026-11-18T20:52:33.271+00:00','0.1.0','f6cef8c51d33c15a');
INSERT INTO "bogrape_trials" VALUES(2,2,7,'393800540b218ae7b01393bacfb0fb229692f435758cf6936b614f274c2a4276','pending','{"n_nodes":5,"directed":false,"edges":[[0,1],[0,2],[0,3],[0,4],[1,3],[2,3],[3,4]],"labels":[1,0,1,1,0]}',NULL,NULL,NULL,'initial','me',1,NULL,2103381653,'{}','{}','{}','2026-11-18T20:52:33.329+00:00','2026-11-18T20:52:33.329+00:00',NULL,'0.1.0','4629191bad20afe3');
CREATE INDEX bogrape_trials_by_revision ON bogrape_trials (study, revision);
COMMIT;
