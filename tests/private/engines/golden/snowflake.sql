SELECT
  COUNT(*),
  COUNT(*)
FROM (
  SELECT
    *
  FROM people
) AS asked;

SELECT
  cell,
  COUNT(*)
FROM (
  SELECT
    CASE
      WHEN (
        value_0 IS NULL
      )
      THEN 4
      WHEN TO_BINARY(value_0, 'UTF-8') = TO_BINARY('Åbo', 'UTF-8')
      THEN 0
      WHEN TO_BINARY(value_0, 'UTF-8') = TO_BINARY('O\'Neil', 'UTF-8')
      THEN 1
      WHEN TO_BINARY(value_0, 'UTF-8') = TO_BINARY('C:\\x', 'UTF-8')
      THEN 2
      ELSE 3
    END AS cell
  FROM (
    SELECT
      counted.*,
      CASE
        WHEN number_1 < CAST('0.0' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        WHEN number_1 > CAST('3.0' AS DOUBLE)
        THEN CAST('3.0' AS DOUBLE)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('18262.0' AS DOUBLE)
        THEN CAST('18262.0' AS DOUBLE)
        WHEN number_2 > CAST('18264.0' AS DOUBLE)
        THEN CAST('18264.0' AS DOUBLE)
        ELSE number_2
      END AS clipped_2
    FROM (
      SELECT
        named.*,
        CAST(value_1 AS DOUBLE) AS number_1,
        CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_2) AS DOUBLE) AS number_2
      FROM (
        SELECT
          "town" AS value_0,
          "age" AS value_1,
          "joined" AS value_2,
          "owner" AS value_3
        FROM (
          SELECT
            *
          FROM people
        ) AS asked
      ) AS named
    ) AS counted
  ) AS defined
) AS located
GROUP BY
  cell;

SELECT
  cell,
  COUNT(*)
FROM (
  SELECT
    CASE
      WHEN (
        value_1 IS NULL
      )
      THEN -1
      WHEN number_1 IS NULL OR ABS(number_1) > CAST('1.7976931348623157e+308' AS DOUBLE)
      THEN -2
      WHEN number_1 < CAST('0.0' AS DOUBLE) OR number_1 > CAST('3.0' AS DOUBLE)
      THEN -3
      ELSE CASE
        WHEN clipped_1 < CAST('2.0' AS DOUBLE)
        THEN CASE WHEN clipped_1 < CAST('1.0' AS DOUBLE) THEN 0 ELSE 1 END
        ELSE CASE WHEN clipped_1 < CAST('3.0' AS DOUBLE) THEN 2 ELSE 3 END
      END
    END AS cell
  FROM (
    SELECT
      counted.*,
      CASE
        WHEN number_1 < CAST('0.0' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        WHEN number_1 > CAST('3.0' AS DOUBLE)
        THEN CAST('3.0' AS DOUBLE)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('18262.0' AS DOUBLE)
        THEN CAST('18262.0' AS DOUBLE)
        WHEN number_2 > CAST('18264.0' AS DOUBLE)
        THEN CAST('18264.0' AS DOUBLE)
        ELSE number_2
      END AS clipped_2
    FROM (
      SELECT
        named.*,
        CAST(value_1 AS DOUBLE) AS number_1,
        CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_2) AS DOUBLE) AS number_2
      FROM (
        SELECT
          "town" AS value_0,
          "age" AS value_1,
          "joined" AS value_2,
          "owner" AS value_3
        FROM (
          SELECT
            *
          FROM people
        ) AS asked
      ) AS named
    ) AS counted
  ) AS defined
) AS located
GROUP BY
  cell;

SELECT
  cell,
  COUNT(*)
FROM (
  SELECT
    CASE
      WHEN (
        value_2 IS NULL
      )
      THEN 3
      WHEN number_2 IS NULL OR ABS(number_2) > CAST('1.7976931348623157e+308' AS DOUBLE)
      THEN -2
      WHEN number_2 < CAST('18262.0' AS DOUBLE) OR number_2 > CAST('18264.0' AS DOUBLE)
      THEN -3
      ELSE CASE
        WHEN clipped_2 < CAST('18263.0' AS DOUBLE)
        THEN 0
        ELSE CASE WHEN clipped_2 < CAST('18264.0' AS DOUBLE) THEN 1 ELSE 2 END
      END
    END AS cell
  FROM (
    SELECT
      counted.*,
      CASE
        WHEN number_1 < CAST('0.0' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        WHEN number_1 > CAST('3.0' AS DOUBLE)
        THEN CAST('3.0' AS DOUBLE)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('18262.0' AS DOUBLE)
        THEN CAST('18262.0' AS DOUBLE)
        WHEN number_2 > CAST('18264.0' AS DOUBLE)
        THEN CAST('18264.0' AS DOUBLE)
        ELSE number_2
      END AS clipped_2
    FROM (
      SELECT
        named.*,
        CAST(value_1 AS DOUBLE) AS number_1,
        CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_2) AS DOUBLE) AS number_2
      FROM (
        SELECT
          "town" AS value_0,
          "age" AS value_1,
          "joined" AS value_2,
          "owner" AS value_3
        FROM (
          SELECT
            *
          FROM people
        ) AS asked
      ) AS named
    ) AS counted
  ) AS defined
) AS located
GROUP BY
  cell;

SELECT
  cell,
  COUNT(*)
FROM (
  SELECT
    CASE
      WHEN (
        value_3 IS NULL
      )
      THEN 2
      WHEN value_3 = FALSE
      THEN 0
      WHEN value_3 = TRUE
      THEN 1
      ELSE -3
    END AS cell
  FROM (
    SELECT
      counted.*,
      CASE
        WHEN number_1 < CAST('0.0' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        WHEN number_1 > CAST('3.0' AS DOUBLE)
        THEN CAST('3.0' AS DOUBLE)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('18262.0' AS DOUBLE)
        THEN CAST('18262.0' AS DOUBLE)
        WHEN number_2 > CAST('18264.0' AS DOUBLE)
        THEN CAST('18264.0' AS DOUBLE)
        ELSE number_2
      END AS clipped_2
    FROM (
      SELECT
        named.*,
        CAST(value_1 AS DOUBLE) AS number_1,
        CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_2) AS DOUBLE) AS number_2
      FROM (
        SELECT
          "town" AS value_0,
          "age" AS value_1,
          "joined" AS value_2,
          "owner" AS value_3
        FROM (
          SELECT
            *
          FROM people
        ) AS asked
      ) AS named
    ) AS counted
  ) AS defined
) AS located
GROUP BY
  cell;

SELECT
  part,
  level_0,
  level_1,
  level_3,
  COUNT(*)
FROM (
  SELECT
    levels.*,
    0 AS part
  FROM (
    SELECT
      CASE
        WHEN (
          value_0 IS NULL
        )
        THEN 4
        WHEN TO_BINARY(value_0, 'UTF-8') = TO_BINARY('Åbo', 'UTF-8')
        THEN 0
        WHEN TO_BINARY(value_0, 'UTF-8') = TO_BINARY('O\'Neil', 'UTF-8')
        THEN 1
        WHEN TO_BINARY(value_0, 'UTF-8') = TO_BINARY('C:\\x', 'UTF-8')
        THEN 2
        ELSE 3
      END AS level_0,
      CASE
        WHEN (
          value_1 IS NULL
        )
        THEN -1
        WHEN number_1 IS NULL OR ABS(number_1) > CAST('1.7976931348623157e+308' AS DOUBLE)
        THEN -2
        WHEN number_1 < CAST('0.0' AS DOUBLE) OR number_1 > CAST('3.0' AS DOUBLE)
        THEN -3
        ELSE CASE
          WHEN clipped_1 < CAST('2.0' AS DOUBLE)
          THEN CASE WHEN clipped_1 < CAST('1.0' AS DOUBLE) THEN 0 ELSE 1 END
          ELSE CASE WHEN clipped_1 < CAST('3.0' AS DOUBLE) THEN 2 ELSE 3 END
        END
      END AS level_1,
      CASE
        WHEN (
          value_2 IS NULL
        )
        THEN 3
        WHEN number_2 IS NULL OR ABS(number_2) > CAST('1.7976931348623157e+308' AS DOUBLE)
        THEN -2
        WHEN number_2 < CAST('18262.0' AS DOUBLE) OR number_2 > CAST('18264.0' AS DOUBLE)
        THEN -3
        ELSE CASE
          WHEN clipped_2 < CAST('18263.0' AS DOUBLE)
          THEN 0
          ELSE CASE WHEN clipped_2 < CAST('18264.0' AS DOUBLE) THEN 1 ELSE 2 END
        END
      END AS level_2,
      CASE
        WHEN (
          value_3 IS NULL
        )
        THEN 2
        WHEN value_3 = FALSE
        THEN 0
        WHEN value_3 = TRUE
        THEN 1
        ELSE -3
      END AS level_3
    FROM (
      SELECT
        counted.*,
        CASE
          WHEN number_1 < CAST('0.0' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          WHEN number_1 > CAST('3.0' AS DOUBLE)
          THEN CAST('3.0' AS DOUBLE)
          ELSE number_1
        END AS clipped_1,
        CASE
          WHEN number_2 < CAST('18262.0' AS DOUBLE)
          THEN CAST('18262.0' AS DOUBLE)
          WHEN number_2 > CAST('18264.0' AS DOUBLE)
          THEN CAST('18264.0' AS DOUBLE)
          ELSE number_2
        END AS clipped_2
      FROM (
        SELECT
          named.*,
          CAST(value_1 AS DOUBLE) AS number_1,
          CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_2) AS DOUBLE) AS number_2
        FROM (
          SELECT
            "town" AS value_0,
            "age" AS value_1,
            "joined" AS value_2,
            "owner" AS value_3
          FROM (
            SELECT
              *
            FROM people
          ) AS asked
        ) AS named
      ) AS counted
    ) AS defined
  ) AS levels
) AS parted
GROUP BY
  GROUPING SETS (
    (part, level_0, level_1),
    (part, level_1, level_3)
  );
