
CREATE SCHEMA older;

CREATE TABLE older.block (
    pk bigint NOT NULL,
    ns integer NOT NULL,
    space integer,
    generation bigint,
    rows integer NOT NULL,
    terms bytea NOT NULL
);

ALTER TABLE older.block ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.block_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE older.change (
    ns integer NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    source bigint,
    generation bigint,
    at bigint NOT NULL
);

CREATE TABLE older.document (
    hash bytea NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY older.document ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE older.embed_queue (
    space integer NOT NULL,
    "row" bigint NOT NULL,
    key bytea NOT NULL
);

CREATE TABLE older.facet (
    pk bigint NOT NULL,
    ns integer NOT NULL,
    source bigint NOT NULL,
    hash bytea NOT NULL,
    record text NOT NULL,
    doc jsonb NOT NULL
);

ALTER TABLE older.facet ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.facet_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE older.generation (
    pk bigint NOT NULL,
    ns integer NOT NULL,
    source bigint NOT NULL,
    number integer,
    revision integer,
    published_seq bigint,
    retired_seq bigint,
    published_at bigint,
    retired_at bigint,
    title bytea,
    facet bigint NOT NULL,
    document bytea,
    facts bytea,
    content_hash text,
    chunk_count integer NOT NULL,
    parent_count integer NOT NULL,
    pinned boolean DEFAULT false NOT NULL
);

CREATE SEQUENCE older.generation_pk
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE older.lease (
    ns integer NOT NULL,
    corpus_id text NOT NULL COLLATE pg_catalog."C",
    token bigint NOT NULL,
    holder text,
    process text,
    expires timestamp with time zone NOT NULL
);

CREATE TABLE older.live (
    "row" bigint NOT NULL,
    ns integer NOT NULL,
    source bigint NOT NULL,
    facet bigint NOT NULL,
    length integer NOT NULL,
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    text_digest bytea NOT NULL,
    parent bytea,
    born bigint NOT NULL,
    created bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE older.manifest (
    generation bigint NOT NULL,
    "row" bigint NOT NULL,
    ordinal integer NOT NULL,
    provenance bytea
);

CREATE TABLE older.meta (
    key text NOT NULL,
    value text NOT NULL
);

CREATE TABLE older.namespace (
    pk integer NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    space text,
    sparse_space text,
    analyzer text,
    seq bigint DEFAULT 0 NOT NULL,
    horizon bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

ALTER TABLE older.namespace ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.namespace_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE older.parent (
    pk bigint NOT NULL,
    ns integer NOT NULL,
    generation bigint NOT NULL,
    parent_id text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    ordinal integer NOT NULL,
    content bytea NOT NULL,
    title bytea,
    summary bytea,
    facet bigint NOT NULL,
    provenance bytea
);

ALTER TABLE older.parent ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.parent_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE older.posting (
    term bigint NOT NULL,
    block bigint NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY older.posting ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE older.retired (
    "row" bigint NOT NULL,
    ns integer NOT NULL,
    source bigint NOT NULL,
    facet bigint NOT NULL,
    length integer NOT NULL,
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    text_digest bytea NOT NULL,
    parent bytea,
    born bigint NOT NULL,
    created bigint NOT NULL,
    died bigint NOT NULL
);

CREATE VIEW older.published AS
 SELECT live."row",
    live.ns,
    live.source,
    live.facet,
    live.length,
    live.chunk_id,
    live.digest,
    live.text_digest,
    live.parent,
    live.born,
    live.created,
    NULL::bigint AS died
   FROM older.live
UNION ALL
 SELECT retired."row",
    retired.ns,
    retired.source,
    retired.facet,
    retired.length,
    retired.chunk_id,
    retired.digest,
    retired.text_digest,
    retired.parent,
    retired.born,
    retired.created,
    retired.died
   FROM older.retired;

CREATE SEQUENCE older.row_pk
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE older.row_vector (
    "row" bigint NOT NULL,
    space integer NOT NULL,
    vector bigint NOT NULL,
    seq bigint NOT NULL
);

CREATE TABLE older.run (
    id bigint NOT NULL,
    ns integer NOT NULL,
    corpus_id text NOT NULL COLLATE pg_catalog."C",
    started_at bigint NOT NULL,
    ended_at bigint,
    counts text NOT NULL,
    facts text NOT NULL
);

CREATE TABLE older.source (
    pk bigint NOT NULL,
    ns integer NOT NULL,
    source_id text NOT NULL COLLATE pg_catalog."C",
    active bigint,
    last_number integer DEFAULT 0 NOT NULL,
    status text,
    corpus_id text COLLATE pg_catalog."C",
    ledger bytea
);

ALTER TABLE older.source ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.source_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE older.space (
    pk integer NOT NULL,
    identity text NOT NULL COLLATE pg_catalog."C",
    dimensions integer NOT NULL,
    sparse boolean NOT NULL
);

ALTER TABLE older.space ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.space_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE older.stage_cache (
    key bytea NOT NULL,
    value bytea NOT NULL,
    size integer NOT NULL,
    at bigint NOT NULL
);

CREATE TABLE older.staged (
    "row" bigint NOT NULL,
    ns integer NOT NULL,
    source bigint NOT NULL,
    facet bigint NOT NULL,
    length integer NOT NULL,
    chunk_id text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    text_digest bytea NOT NULL,
    parent bytea,
    generation bigint NOT NULL
);

CREATE TABLE older.stat_delta (
    ns integer NOT NULL,
    term bigint NOT NULL,
    seq bigint NOT NULL,
    ddf bigint NOT NULL
);

CREATE TABLE older.text (
    "row" bigint NOT NULL,
    content bytea NOT NULL,
    context bytea NOT NULL,
    words bytea NOT NULL
);

CREATE TABLE older.vec_1 (
    "row" bigint NOT NULL,
    ns integer NOT NULL,
    facet bigint NOT NULL,
    since bigint NOT NULL,
    data public.halfvec(4) NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE ONLY older.vec_1 ALTER COLUMN data SET STORAGE PLAIN;

CREATE TABLE older.vector (
    pk bigint NOT NULL,
    space integer NOT NULL,
    key bytea NOT NULL,
    dense public.halfvec,
    sparse bytea,
    created bigint NOT NULL,
    CONSTRAINT vector_check CHECK (((dense IS NULL) <> (sparse IS NULL)))
);

ALTER TABLE older.vector ALTER COLUMN pk ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME older.vector_pk_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

INSERT INTO older.block OVERRIDING SYSTEM VALUE VALUES (1, 1, NULL, NULL, 3, '\xe2fd519f70500c2502e4d06d4a90a656afd99cd4ae754c63164bc1f5e107b077bb5f056ecad04c7f');
INSERT INTO older.block OVERRIDING SYSTEM VALUE VALUES (2, 1, NULL, NULL, 1, '\xefe89f5c4874df569ccf4130b9eb1b5f');
INSERT INTO older.block OVERRIDING SYSTEM VALUE VALUES (3, 1, NULL, NULL, 1, '\x330e681fbfe67df0f4550762afb56d62');

INSERT INTO older.change VALUES (1, 1, 'publish', 1, 1, 1796094673803019);
INSERT INTO older.change VALUES (1, 1, 'publish', 2, 2, 1796094673803019);
INSERT INTO older.change VALUES (1, 2, 'publish', 1, 3, 1796094673813671);
INSERT INTO older.change VALUES (1, 3, 'publish', 4, 4, 1796094673825734);
INSERT INTO older.change VALUES (1, 4, 'delete', 4, 4, 1796094673830711);

INSERT INTO older.document VALUES ('\x666fe4bd85a16da5c1521fcbea628c36', '\x78018b562a4a4d51482c28c8498dc98bc94b2f4a4dcd83709574a2636301b3f70b25');
INSERT INTO older.document VALUES ('\xa39d339f348ff6dc7e41916b9f763d50', '\x78018b564a5428c829cd55d2898e8d05001c420420');
INSERT INTO older.document VALUES ('\xd0b700342806103c5ce4c361f533df9f', '\x78018b562a4a4d51482c28c8498dc98bc9cb4b2d5728484d2c52d2898e8d050091bb09f4');
INSERT INTO older.document VALUES ('\x6d6c2e2fcb40d1b2c9947d48e739eb96', '\x78018b564acfcf4b5548ce482d2aaa54d2898e8d05003b340637');

INSERT INTO older.embed_queue VALUES (1, 4, '\x0073fff94cd38332a8c2ef22267eca67');

INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, '\x0b961bf73857581d9983d95ad3850790', '[{"lang":"en","year":2021},{"$title":"A"}]', '{"s": {"$title": "A", "$source_id": "a"}, "u": {"lang": "en", "year": 2021}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (2, 1, 1, '\x7971887097670c023949efbddc5070d9', '[{"lang":"en","year":2020},{"$title":"A"}]', '{"s": {"$title": "A", "$source_id": "a"}, "u": {"lang": "en", "year": 2020}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (3, 1, 1, '\x931632cb4d2dc8a85f2780320eba40b9', '[{},{"$title":"A"}]', '{"s": {"$title": "A", "$source_id": "a"}, "u": {}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (4, 1, 1, '\xc1b869c0141a2045bee087ec3dacd11a', '[{"k":1},{"$title":"A"}]', '{"s": {"$title": "A", "$source_id": "a"}, "u": {"k": 1}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (5, 1, 2, '\x6e4578da258e24ced09a79d565355cb5', '[{},{"$title":"B"}]', '{"s": {"$title": "B", "$source_id": "b"}, "u": {}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (6, 1, 2, '\x879a77b5d22b4fcf81b4e4be60753d3c', '[{"k":1},{"$title":"B"}]', '{"s": {"$title": "B", "$source_id": "b"}, "u": {"k": 1}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (7, 1, 2, '\xcaa70dbc2538fa8788f45884f2ac9467', '[{"lang":"en","year":2020},{"$title":"B"}]', '{"s": {"$title": "B", "$source_id": "b"}, "u": {"lang": "en", "year": 2020}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (8, 1, 4, '\x33a85bdc4587bfe3b218d469a1c4b60d', '[{"lang":"en","year":2020},{"$title":"C"}]', '{"s": {"$title": "C", "$source_id": "c"}, "u": {"lang": "en", "year": 2020}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (9, 1, 4, '\x4049440c10f013808465f47c155b0782', '[{"k":1},{"$title":"C"}]', '{"s": {"$title": "C", "$source_id": "c"}, "u": {"k": 1}}');
INSERT INTO older.facet OVERRIDING SYSTEM VALUE VALUES (10, 1, 4, '\xe338ef108d72e3361fd6afe90313e970', '[{},{"$title":"C"}]', '{"s": {"$title": "C", "$source_id": "c"}, "u": {}}');

INSERT INTO older.generation VALUES (2, 1, 2, 1, 1, 1, NULL, 1796094673803019, NULL, '\x42', 6, '\xa39d339f348ff6dc7e41916b9f763d50', '\x5b6e756c6c2c6e756c6c2c6e756c6c2c6e756c6c2c5b5d5d', 'h', 1, 1, false);
INSERT INTO older.generation VALUES (3, 1, 1, 2, 1, 2, NULL, 1796094673813671, NULL, '\x41', 4, '\xd0b700342806103c5ce4c361f533df9f', '\x5b6e756c6c2c6e756c6c2c6e756c6c2c6e756c6c2c5b5d5d', 'h', 2, 1, false);
INSERT INTO older.generation VALUES (1, 1, 1, 1, 1, 1, 2, 1796094673803019, 1796094673813671, '\x41', 4, '\x666fe4bd85a16da5c1521fcbea628c36', '\x5b6e756c6c2c6e756c6c2c6e756c6c2c6e756c6c2c5b5d5d', 'h', 2, 1, false);
INSERT INTO older.generation VALUES (4, 1, 4, 1, 1, 3, 4, 1796094673825734, 1796094673830711, '\x43', 9, '\x6d6c2e2fcb40d1b2c9947d48e739eb96', '\x5b6e756c6c2c6e756c6c2c6e756c6c2c6e756c6c2c5b5d5d', 'h', 1, 1, false);

INSERT INTO older.live VALUES (1, 1, 1, 2, 2, 'c0-red', '\xe0b9e268e54673a9d40c0fcf1827e721', '\xc612568e167cc87be3307c8e9d99ece0', '\x7b22706172656e745f6964223a2270222c226b6579223a22612d70222c227469746c65223a6e756c6c2c2273756d6d617279223a6e756c6c7d', 1, 1796094673803019);
INSERT INTO older.live VALUES (3, 1, 2, 7, 2, 'c0-a', '\x99dfef47d1a855caa361a45bc2af63d6', '\x3ffd413f3452ffa7e201bc84bf7339dc', '\x7b22706172656e745f6964223a2270222c226b6579223a22622d70222c227469746c65223a6e756c6c2c2273756d6d617279223a6e756c6c7d', 1, 1796094673803019);
INSERT INTO older.live VALUES (4, 1, 1, 1, 2, 'c1-new', '\x2fb2a0d58ec250013073e3aedcf2ad09', '\x4f8ce9a906e3d5301488fb9db58fc2e5', '\x7b22706172656e745f6964223a2270222c226b6579223a22612d70222c227469746c65223a6e756c6c2c2273756d6d617279223a6e756c6c7d', 2, 1796094673813671);

INSERT INTO older.manifest VALUES (1, 1, 0, NULL);
INSERT INTO older.manifest VALUES (1, 2, 1, NULL);
INSERT INTO older.manifest VALUES (2, 3, 0, NULL);
INSERT INTO older.manifest VALUES (3, 1, 0, NULL);
INSERT INTO older.manifest VALUES (3, 4, 1, NULL);
INSERT INTO older.manifest VALUES (4, 5, 0, NULL);

INSERT INTO older.meta VALUES ('version', '1');

INSERT INTO older.namespace OVERRIDING SYSTEM VALUE VALUES (1, 'library', 'test/4/cosine/1', NULL, '1+en.3', 4, 0);

INSERT INTO older.parent OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'p', 'a-p', 0, '\x61626f7665', NULL, NULL, 3, NULL);
INSERT INTO older.parent OVERRIDING SYSTEM VALUE VALUES (2, 1, 2, 'p', 'b-p', 0, '\x61626f7665', NULL, NULL, 5, NULL);
INSERT INTO older.parent OVERRIDING SYSTEM VALUE VALUES (3, 1, 3, 'p', 'a-p', 0, '\x61626f7665', NULL, NULL, 3, NULL);
INSERT INTO older.parent OVERRIDING SYSTEM VALUE VALUES (4, 1, 4, 'p', 'c-p', 0, '\x61626f7665', NULL, NULL, 10, NULL);

INSERT INTO older.posting VALUES (2669597123763371490, 1, '\x0300000000000000020000000100');
INSERT INTO older.posting VALUES (6243836582740157442, 1, '\x0100000000000000020000000100');
INSERT INTO older.posting VALUES (7155223301736683951, 1, '\x0200000000000000020000000100');
INSERT INTO older.posting VALUES (8624401953486621462, 1, '\x01000000000000000200000001000200000000000000020000000100');
INSERT INTO older.posting VALUES (9172936108894674875, 1, '\x0300000000000000020000000100');
INSERT INTO older.posting VALUES (6259849861208729839, 2, '\x0400000000000000020000000100');
INSERT INTO older.posting VALUES (6853330438585438108, 2, '\x0400000000000000020000000100');
INSERT INTO older.posting VALUES (-1117483423977959885, 3, '\x0500000000000000020000000100');
INSERT INTO older.posting VALUES (7092524753046951412, 3, '\x0500000000000000020000000100');

INSERT INTO older.retired VALUES (2, 1, 1, 1, 2, 'c1-green', '\x22a5a7effd729017aab58bf145e5d687', '\xaeb19853bf0a987766050b3148176985', '\x7b22706172656e745f6964223a2270222c226b6579223a22612d70222c227469746c65223a6e756c6c2c2273756d6d617279223a6e756c6c7d', 1, 1796094673803019, 2);
INSERT INTO older.retired VALUES (5, 1, 4, 8, 2, 'c0-gone', '\x2c4785f7d86cacb66294b4ff9808fb47', '\xbbe835eb6aec339d0d1a4514d3b802df', '\x7b22706172656e745f6964223a2270222c226b6579223a22632d70222c227469746c65223a6e756c6c2c2273756d6d617279223a6e756c6c7d', 3, 1796094673825734, 4);

INSERT INTO older.row_vector VALUES (1, 1, 1, 0);
INSERT INTO older.row_vector VALUES (3, 1, 2, 0);
INSERT INTO older.row_vector VALUES (2, 1, 3, 0);

INSERT INTO older.run VALUES (1796094673833103, 1, 'shelf', 1704067200000000, 1704067200000000, '{"added":2}', '{}');

INSERT INTO older.source OVERRIDING SYSTEM VALUE VALUES (2, 1, 'b', 2, 1, 'indexed', 'shelf', '\x7b226e616d657370616365223a226c696272617279222c22736f757263655f6964223a2262222c22737461747573223a22696e6465786564222c22636f727075735f6964223a227368656c66222c2276657273696f6e223a5b312c315d2c227469746c65223a2242222c226d65746164617461223a7b226b223a317d2c226d656469615f74797065223a6e756c6c2c22757269223a6e756c6c2c22736f757263655f68617368223a6e756c6c2c22636f6e74656e745f68617368223a2268222c226d657461646174615f68617368223a6e756c6c2c22696e6465785f68617368223a7b7d2c227265766973696f6e223a6e756c6c2c22726561646572223a6e756c6c2c2268656c645f68617368223a6e756c6c2c226368756e6b5f636f756e74223a312c22706172656e745f636f756e74223a312c2266697273745f7365656e5f6174223a22323032362d31322d30315430333a31313a31332e3830333031395a222c226c6173745f7365656e5f6174223a22323032362d31322d30315430333a31313a31332e3830333031395a222c22696e64657865645f6174223a22323032362d31322d30315430333a31313a31332e3830333031395a222c226661696c65645f6174223a6e756c6c2c2264656c657465645f6174223a6e756c6c2c2272756e5f6964223a6e756c6c2c226572726f72223a6e756c6c2c226572726f7273223a5b5d2c22737461676573223a5b5d7d');
INSERT INTO older.source OVERRIDING SYSTEM VALUE VALUES (1, 1, 'a', 3, 2, 'indexed', 'shelf', '\x7b226e616d657370616365223a226c696272617279222c22736f757263655f6964223a2261222c22737461747573223a22696e6465786564222c22636f727075735f6964223a227368656c66222c2276657273696f6e223a5b322c315d2c227469746c65223a2241222c226d65746164617461223a7b226b223a317d2c226d656469615f74797065223a6e756c6c2c22757269223a6e756c6c2c22736f757263655f68617368223a6e756c6c2c22636f6e74656e745f68617368223a2268222c226d657461646174615f68617368223a6e756c6c2c22696e6465785f68617368223a7b7d2c227265766973696f6e223a6e756c6c2c22726561646572223a6e756c6c2c2268656c645f68617368223a6e756c6c2c226368756e6b5f636f756e74223a322c22706172656e745f636f756e74223a312c2266697273745f7365656e5f6174223a22323032362d31322d30315430333a31313a31332e3830333031395a222c226c6173745f7365656e5f6174223a22323032362d31322d30315430333a31313a31332e3831333637315a222c22696e64657865645f6174223a22323032362d31322d30315430333a31313a31332e3831333637315a222c226661696c65645f6174223a6e756c6c2c2264656c657465645f6174223a6e756c6c2c2272756e5f6964223a6e756c6c2c226572726f72223a6e756c6c2c226572726f7273223a5b5d2c22737461676573223a5b5d7d');
INSERT INTO older.source OVERRIDING SYSTEM VALUE VALUES (4, 1, 'c', NULL, 1, 'deleted', 'shelf', '\x7b226e616d657370616365223a226c696272617279222c22736f757263655f6964223a2263222c22737461747573223a2264656c65746564222c22636f727075735f6964223a227368656c66222c2276657273696f6e223a6e756c6c2c227469746c65223a2243222c226d65746164617461223a7b226b223a317d2c226d656469615f74797065223a6e756c6c2c22757269223a6e756c6c2c22736f757263655f68617368223a6e756c6c2c22636f6e74656e745f68617368223a2268222c226d657461646174615f68617368223a6e756c6c2c22696e6465785f68617368223a7b7d2c227265766973696f6e223a6e756c6c2c22726561646572223a6e756c6c2c2268656c645f68617368223a6e756c6c2c226368756e6b5f636f756e74223a302c22706172656e745f636f756e74223a302c2266697273745f7365656e5f6174223a22323032362d31322d30315430333a31313a31332e3832353733345a222c226c6173745f7365656e5f6174223a22323032362d31322d30315430333a31313a31332e3832353733345a222c22696e64657865645f6174223a22323032362d31322d30315430333a31313a31332e3832353733345a222c226661696c65645f6174223a6e756c6c2c2264656c657465645f6174223a22323032362d31322d30315430333a31313a31332e3833303731315a222c2272756e5f6964223a6e756c6c2c226572726f72223a6e756c6c2c226572726f7273223a5b5d2c22737461676573223a5b5d7d');

INSERT INTO older.space OVERRIDING SYSTEM VALUE VALUES (1, 'test/4/cosine/1', 4, false);

INSERT INTO older.stat_delta VALUES (1, -842272323546316554, 1, 3);
INSERT INTO older.stat_delta VALUES (1, 377541532450043944, 1, 6);
INSERT INTO older.stat_delta VALUES (1, -6894521088077421086, 1, 3);
INSERT INTO older.stat_delta VALUES (1, 2669597123763371490, 1, 1);
INSERT INTO older.stat_delta VALUES (1, 6243836582740157442, 1, 1);
INSERT INTO older.stat_delta VALUES (1, 7155223301736683951, 1, 1);
INSERT INTO older.stat_delta VALUES (1, 8624401953486621462, 1, 2);
INSERT INTO older.stat_delta VALUES (1, 9172936108894674875, 1, 1);
INSERT INTO older.stat_delta VALUES (1, -6894521088077421086, 2, -1);
INSERT INTO older.stat_delta VALUES (1, 6259849861208729839, 2, 1);
INSERT INTO older.stat_delta VALUES (1, 6853330438585438108, 2, 1);
INSERT INTO older.stat_delta VALUES (1, 7155223301736683951, 2, -1);
INSERT INTO older.stat_delta VALUES (1, 8624401953486621462, 2, -1);
INSERT INTO older.stat_delta VALUES (1, -842272323546316554, 3, 1);
INSERT INTO older.stat_delta VALUES (1, 377541532450043944, 3, 2);
INSERT INTO older.stat_delta VALUES (1, -1117483423977959885, 3, 1);
INSERT INTO older.stat_delta VALUES (1, 7092524753046951412, 3, 1);
INSERT INTO older.stat_delta VALUES (1, -842272323546316554, 4, -1);
INSERT INTO older.stat_delta VALUES (1, 377541532450043944, 4, -2);
INSERT INTO older.stat_delta VALUES (1, -1117483423977959885, 4, -1);
INSERT INTO older.stat_delta VALUES (1, 7092524753046951412, 4, -1);

INSERT INTO older.text VALUES (1, '\x726564206170706c65', '\x', '\x02e4d06d4a90a656164bc1f5e107b07701000100');
INSERT INTO older.text VALUES (2, '\x677265656e206170706c65', '\x', '\xafd99cd4ae754c63164bc1f5e107b07701000100');
INSERT INTO older.text VALUES (3, '\x6120706c756d', '\x', '\xe2fd519f70500c25bb5f056ecad04c7f01000100');
INSERT INTO older.text VALUES (4, '\x6e65772070656172', '\x', '\xefe89f5c4874df569ccf4130b9eb1b5f01000100');
INSERT INTO older.text VALUES (5, '\x676f6e6520636865727279', '\x', '\x330e681fbfe67df0f4550762afb56d6201000100');

INSERT INTO older.vec_1 VALUES (1, 1, 2, 1, '[0.8598633,0.50878906,0.026855469,0.036071777]');
INSERT INTO older.vec_1 VALUES (3, 1, 7, 1, '[-0.54345703,0.5307617,-0.59472656,0.2631836]');

INSERT INTO older.vector OVERRIDING SYSTEM VALUE VALUES (1, 1, '\x2ba8134e3a48893da9f214230f6a83d1', '[0.8598633,0.50878906,0.026855469,0.036071777]', NULL, 1796094673781843);
INSERT INTO older.vector OVERRIDING SYSTEM VALUE VALUES (2, 1, '\x52da64b9767b3b3a29aeb33a983f26ab', '[-0.54345703,0.5307617,-0.59472656,0.2631836]', NULL, 1796094673781843);
INSERT INTO older.vector OVERRIDING SYSTEM VALUE VALUES (3, 1, '\xad0b65cbbd0f867a0ee06aaa4bd41cb4', '[-0.18652344,0.05343628,-0.5263672,-0.8276367]', NULL, 1796094673781843);

SELECT pg_catalog.setval('older.block_pk_seq', 3, true);

SELECT pg_catalog.setval('older.facet_pk_seq', 10, true);

SELECT pg_catalog.setval('older.generation_pk', 4, true);

SELECT pg_catalog.setval('older.namespace_pk_seq', 1, true);

SELECT pg_catalog.setval('older.parent_pk_seq', 4, true);

SELECT pg_catalog.setval('older.row_pk', 5, true);

SELECT pg_catalog.setval('older.source_pk_seq', 4, true);

SELECT pg_catalog.setval('older.space_pk_seq', 1, true);

SELECT pg_catalog.setval('older.vector_pk_seq', 3, true);

ALTER TABLE ONLY older.block
    ADD CONSTRAINT block_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY older.embed_queue
    ADD CONSTRAINT embed_queue_pkey PRIMARY KEY (space, "row");

ALTER TABLE ONLY older.facet
    ADD CONSTRAINT facet_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.facet
    ADD CONSTRAINT facet_source_hash_key UNIQUE (source, hash);

ALTER TABLE ONLY older.generation
    ADD CONSTRAINT generation_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (ns, corpus_id);

ALTER TABLE ONLY older.live
    ADD CONSTRAINT live_pkey PRIMARY KEY ("row");

ALTER TABLE ONLY older.manifest
    ADD CONSTRAINT manifest_pkey PRIMARY KEY (generation, "row");

ALTER TABLE ONLY older.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (key);

ALTER TABLE ONLY older.namespace
    ADD CONSTRAINT namespace_name_key UNIQUE (name);

ALTER TABLE ONLY older.namespace
    ADD CONSTRAINT namespace_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.parent
    ADD CONSTRAINT parent_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.posting
    ADD CONSTRAINT posting_pkey PRIMARY KEY (term, block);

ALTER TABLE ONLY older.retired
    ADD CONSTRAINT retired_pkey PRIMARY KEY ("row");

ALTER TABLE ONLY older.row_vector
    ADD CONSTRAINT row_vector_pkey PRIMARY KEY ("row", space);

ALTER TABLE ONLY older.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);

ALTER TABLE ONLY older.source
    ADD CONSTRAINT source_ns_source_id_key UNIQUE (ns, source_id);

ALTER TABLE ONLY older.source
    ADD CONSTRAINT source_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.space
    ADD CONSTRAINT space_identity_key UNIQUE (identity);

ALTER TABLE ONLY older.space
    ADD CONSTRAINT space_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.stage_cache
    ADD CONSTRAINT stage_cache_pkey PRIMARY KEY (key);

ALTER TABLE ONLY older.staged
    ADD CONSTRAINT staged_pkey PRIMARY KEY ("row");

ALTER TABLE ONLY older.stat_delta
    ADD CONSTRAINT stat_delta_pkey PRIMARY KEY (term, seq);

ALTER TABLE ONLY older.text
    ADD CONSTRAINT text_pkey PRIMARY KEY ("row");

ALTER TABLE ONLY older.vec_1
    ADD CONSTRAINT vec_1_pkey PRIMARY KEY ("row");

ALTER TABLE ONLY older.vector
    ADD CONSTRAINT vector_pkey PRIMARY KEY (pk);

ALTER TABLE ONLY older.vector
    ADD CONSTRAINT vector_space_key_key UNIQUE (space, key);

CREATE INDEX block_ns ON older.block USING btree (ns);

CREATE INDEX change_seq ON older.change USING btree (ns, seq);

CREATE INDEX embed_queue_key ON older.embed_queue USING btree (space, key);

CREATE INDEX embed_queue_row ON older.embed_queue USING btree ("row");

CREATE INDEX facet_doc ON older.facet USING gin (doc jsonb_path_ops);

CREATE INDEX facet_ns ON older.facet USING btree (ns);

CREATE INDEX generation_source ON older.generation USING btree (source, published_seq);

CREATE INDEX generation_staged ON older.generation USING btree (ns) WHERE (published_seq IS NULL);

CREATE INDEX live_facet ON older.live USING btree (facet);

CREATE INDEX parent_generation ON older.parent USING btree (generation);

CREATE INDEX parent_key ON older.parent USING btree (ns, key);

CREATE INDEX retired_died ON older.retired USING btree (ns, died);

CREATE INDEX row_vector_vector ON older.row_vector USING btree (vector);

CREATE INDEX run_corpus ON older.run USING btree (ns, corpus_id, id);

CREATE INDEX stage_cache_at ON older.stage_cache USING btree (at, key, size);

CREATE INDEX stat_delta_seq ON older.stat_delta USING btree (ns, seq);

CREATE INDEX vec_1_facet ON older.vec_1 USING btree (facet);

CREATE INDEX vec_1_ns ON older.vec_1 USING btree (ns);

ALTER TABLE ONLY older.row_vector
    ADD CONSTRAINT row_vector_vector_fkey FOREIGN KEY (vector) REFERENCES older.vector(pk);

ALTER TABLE ONLY older.source
    ADD CONSTRAINT source_ns_fkey FOREIGN KEY (ns) REFERENCES older.namespace(pk);

ALTER TABLE ONLY older.vector
    ADD CONSTRAINT vector_space_fkey FOREIGN KEY (space) REFERENCES older.space(pk);

