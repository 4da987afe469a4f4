SELECT
  COUNT(*),
  COALESCE(SUM(CASE WHEN person IS NULL THEN 1 ELSE 0 END), 0),
  COALESCE(SUM(CASE WHEN broken THEN 1 ELSE 0 END), 0)
FROM (
  SELECT
    CASE
      WHEN (
        TO_BINARY(LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')), 'UTF-8') = TO_BINARY('', 'UTF-8')
      )
      THEN NULL
      ELSE TO_BINARY(whose, 'UTF-8')
    END AS person,
    (
      1 = 0
    ) AS broken
  FROM (
    SELECT
      "who" AS whose
    FROM (
      SELECT
        *
      FROM sales
    ) AS asked
  ) AS named
) AS owned;

SELECT
  COUNT(*)
FROM (
  SELECT
    plain
  FROM (
    SELECT
      CASE
        WHEN (
          TO_BINARY(LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')), 'UTF-8') = TO_BINARY('', 'UTF-8')
        )
        THEN NULL
        ELSE TO_BINARY(whose, 'UTF-8')
      END AS person,
      TO_BINARY(
        REGEXP_REPLACE(
          REGEXP_REPLACE(
            LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')),
            '^[+]?(-?)0*([0-9]+)([.]0*)?$',
            '\\1\\2'
          ),
          '^-0$',
          '0'
        ),
        'UTF-8'
      ) AS plain
    FROM (
      SELECT
        "who" AS whose
      FROM (
        SELECT
          *
        FROM sales
      ) AS asked
    ) AS named
  ) AS spelled
  GROUP BY
    plain
  HAVING
    COUNT(DISTINCT person) > 1
) AS alike;

SELECT
  COUNT(*)
FROM (
  SELECT
    person
  FROM (
    SELECT
      person,
      CASE
        WHEN (
          value_0 IS NULL
        )
        THEN 'e531ef0f96240917'
        ELSE COALESCE(
          SUBSTRING(
            SHA2(
              '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
              256
            ),
            1,
            16
          ),
          'e531ef0f96240917'
        )
      END AS digits
    FROM (
      SELECT
        named.*,
        CASE
          WHEN (
            TO_BINARY(LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')), 'UTF-8') = TO_BINARY('', 'UTF-8')
          )
          THEN NULL
          ELSE TO_BINARY(whose, 'UTF-8')
        END AS person,
        SUBSTRING(
          SHA2(
            '00000000000000000000000000000000000000000000000000000000000000002' || CASE
              WHEN (
                value_0 IS NULL
              )
              THEN 'e531ef0f96240917'
              ELSE COALESCE(
                SUBSTRING(
                  SHA2(
                    '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                    256
                  ),
                  1,
                  16
                ),
                'e531ef0f96240917'
              )
            END || CASE
              WHEN (
                value_1 IS NULL
              )
              THEN 'e531ef0f96240917'
              ELSE COALESCE(
                SUBSTRING(
                  SHA2(
                    '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS VARCHAR),
                    256
                  ),
                  1,
                  16
                ),
                'e531ef0f96240917'
              )
            END,
            256
          ),
          1,
          16
        ) AS likeness
      FROM (
        SELECT
          "town" AS value_0,
          "bought" AS value_1,
          "who" AS whose
        FROM (
          SELECT
            *
          FROM sales
        ) AS asked
      ) AS named
    ) AS owned
  ) AS digested
  GROUP BY
    person
  HAVING
    COUNT(DISTINCT digits) > 1
) AS changed;

SELECT
  COUNT(*),
  COALESCE(SUM(CASE WHEN place = 1 THEN 1 ELSE 0 END), 0)
FROM (
  SELECT
    ranked.*,
    COUNT(*) OVER (PARTITION BY person) AS siblings,
    ROW_NUMBER() OVER (
      PARTITION BY person
      ORDER BY CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE), lot
    ) AS place
  FROM (
    SELECT
      drawn.*,
      ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
    FROM (
      SELECT
        counted.*,
        TO_BINARY(
          SUBSTRING(
            SHA2(
              '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS VARCHAR),
              256
            ),
            1,
            16
          ),
          'UTF-8'
        ) AS lot
      FROM (
        SELECT
          owned.*,
          ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1 AS twin
        FROM (
          SELECT
            named.*,
            CASE
              WHEN (
                TO_BINARY(LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')), 'UTF-8') = TO_BINARY('', 'UTF-8')
              )
              THEN NULL
              ELSE TO_BINARY(whose, 'UTF-8')
            END AS person,
            SUBSTRING(
              SHA2(
                '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                  WHEN (
                    value_0 IS NULL
                  )
                  THEN 'e531ef0f96240917'
                  ELSE COALESCE(
                    SUBSTRING(
                      SHA2(
                        '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                        256
                      ),
                      1,
                      16
                    ),
                    'e531ef0f96240917'
                  )
                END || CASE
                  WHEN (
                    value_1 IS NULL
                  )
                  THEN 'e531ef0f96240917'
                  ELSE COALESCE(
                    SUBSTRING(
                      SHA2(
                        '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS VARCHAR),
                        256
                      ),
                      1,
                      16
                    ),
                    'e531ef0f96240917'
                  )
                END,
                256
              ),
              1,
              16
            ) AS likeness
          FROM (
            SELECT
              "town" AS value_0,
              "bought" AS value_1,
              "who" AS whose
            FROM (
              SELECT
                *
              FROM sales
            ) AS asked
          ) AS named
        ) AS owned
      ) AS counted
    ) AS drawn
  ) AS ranked
  WHERE
    draw <= 3
) AS kept;

SELECT
  cell,
  SUM(weight)
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
    END AS cell,
    person,
    place,
    weight
  FROM (
    SELECT
      counted.*,
      CASE
        WHEN number_1 < CAST('18262.0' AS DOUBLE)
        THEN CAST('18262.0' AS DOUBLE)
        WHEN number_1 > CAST('18264.0' AS DOUBLE)
        THEN CAST('18264.0' AS DOUBLE)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('1.0' AS DOUBLE)
        THEN CAST('1.0' AS DOUBLE)
        WHEN number_2 > CAST('3.0' AS DOUBLE)
        THEN CAST('3.0' AS DOUBLE)
        ELSE number_2
      END AS clipped_2,
      CASE
        WHEN number_3 < CAST('18262.0' AS DOUBLE)
        THEN CAST('18262.0' AS DOUBLE)
        WHEN number_3 > CAST('18264.0' AS DOUBLE)
        THEN CAST('18264.0' AS DOUBLE)
        ELSE number_3
      END AS clipped_3,
      CASE
        WHEN number_5 < CAST('0.0' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        WHEN number_5 > CAST('2.0' AS DOUBLE)
        THEN CAST('2.0' AS DOUBLE)
        ELSE number_5
      END AS clipped_5
    FROM (
      SELECT
        named.*,
        CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE) AS number_1,
        CAST(value_2 AS DOUBLE) AS number_2,
        CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_3) AS DOUBLE) AS number_3,
        CAST(value_5 AS DOUBLE) AS number_5
      FROM (
        SELECT
          value_0,
          value_1,
          siblings AS value_2,
          FIRST_VALUE(value_1) OVER (PARTITION BY person ORDER BY place) AS value_3,
          (
            place = 1
          ) AS value_4,
          CAST(LEAD(CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE)) OVER (PARTITION BY person ORDER BY place) - CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE) AS BIGINT) AS value_5,
          person,
          place,
          CAST(FLOOR(CAST(16777216 AS DOUBLE) / siblings) AS BIGINT) AS weight
        FROM (
          SELECT
            ranked.*,
            COUNT(*) OVER (PARTITION BY person) AS siblings,
            ROW_NUMBER() OVER (
              PARTITION BY person
              ORDER BY CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE), lot
            ) AS place
          FROM (
            SELECT
              drawn.*,
              ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
            FROM (
              SELECT
                counted.*,
                TO_BINARY(
                  SUBSTRING(
                    SHA2(
                      '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS VARCHAR),
                      256
                    ),
                    1,
                    16
                  ),
                  'UTF-8'
                ) AS lot
              FROM (
                SELECT
                  owned.*,
                  ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1 AS twin
                FROM (
                  SELECT
                    named.*,
                    CASE
                      WHEN (
                        TO_BINARY(LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')), 'UTF-8') = TO_BINARY('', 'UTF-8')
                      )
                      THEN NULL
                      ELSE TO_BINARY(whose, 'UTF-8')
                    END AS person,
                    SUBSTRING(
                      SHA2(
                        '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                          WHEN (
                            value_0 IS NULL
                          )
                          THEN 'e531ef0f96240917'
                          ELSE COALESCE(
                            SUBSTRING(
                              SHA2(
                                '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                                256
                              ),
                              1,
                              16
                            ),
                            'e531ef0f96240917'
                          )
                        END || CASE
                          WHEN (
                            value_1 IS NULL
                          )
                          THEN 'e531ef0f96240917'
                          ELSE COALESCE(
                            SUBSTRING(
                              SHA2(
                                '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS VARCHAR),
                                256
                              ),
                              1,
                              16
                            ),
                            'e531ef0f96240917'
                          )
                        END,
                        256
                      ),
                      1,
                      16
                    ) AS likeness
                  FROM (
                    SELECT
                      "town" AS value_0,
                      "bought" AS value_1,
                      "who" AS whose
                    FROM (
                      SELECT
                        *
                      FROM sales
                    ) AS asked
                  ) AS named
                ) AS owned
              ) AS counted
            ) AS drawn
          ) AS ranked
          WHERE
            draw <= 3
        ) AS kept
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
  SUM(weight)
FROM (
  SELECT
    levels.*,
    0 AS part
  FROM (
    SELECT
      stepping.*,
      COALESCE(LEAD(level_0) OVER (PARTITION BY person ORDER BY place), 4) AS level_1
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
        person,
        place,
        weight
      FROM (
        SELECT
          counted.*,
          CASE
            WHEN number_1 < CAST('18262.0' AS DOUBLE)
            THEN CAST('18262.0' AS DOUBLE)
            WHEN number_1 > CAST('18264.0' AS DOUBLE)
            THEN CAST('18264.0' AS DOUBLE)
            ELSE number_1
          END AS clipped_1,
          CASE
            WHEN number_2 < CAST('1.0' AS DOUBLE)
            THEN CAST('1.0' AS DOUBLE)
            WHEN number_2 > CAST('3.0' AS DOUBLE)
            THEN CAST('3.0' AS DOUBLE)
            ELSE number_2
          END AS clipped_2,
          CASE
            WHEN number_3 < CAST('18262.0' AS DOUBLE)
            THEN CAST('18262.0' AS DOUBLE)
            WHEN number_3 > CAST('18264.0' AS DOUBLE)
            THEN CAST('18264.0' AS DOUBLE)
            ELSE number_3
          END AS clipped_3,
          CASE
            WHEN number_5 < CAST('0.0' AS DOUBLE)
            THEN CAST('0.0' AS DOUBLE)
            WHEN number_5 > CAST('2.0' AS DOUBLE)
            THEN CAST('2.0' AS DOUBLE)
            ELSE number_5
          END AS clipped_5
        FROM (
          SELECT
            named.*,
            CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE) AS number_1,
            CAST(value_2 AS DOUBLE) AS number_2,
            CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_3) AS DOUBLE) AS number_3,
            CAST(value_5 AS DOUBLE) AS number_5
          FROM (
            SELECT
              value_0,
              value_1,
              siblings AS value_2,
              FIRST_VALUE(value_1) OVER (PARTITION BY person ORDER BY place) AS value_3,
              (
                place = 1
              ) AS value_4,
              CAST(LEAD(CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE)) OVER (PARTITION BY person ORDER BY place) - CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE) AS BIGINT) AS value_5,
              person,
              place,
              CAST(FLOOR(CAST(16777216 AS DOUBLE) / siblings) AS BIGINT) AS weight
            FROM (
              SELECT
                ranked.*,
                COUNT(*) OVER (PARTITION BY person) AS siblings,
                ROW_NUMBER() OVER (
                  PARTITION BY person
                  ORDER BY CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS DOUBLE), lot
                ) AS place
              FROM (
                SELECT
                  drawn.*,
                  ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
                FROM (
                  SELECT
                    counted.*,
                    TO_BINARY(
                      SUBSTRING(
                        SHA2(
                          '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS VARCHAR),
                          256
                        ),
                        1,
                        16
                      ),
                      'UTF-8'
                    ) AS lot
                  FROM (
                    SELECT
                      owned.*,
                      ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1 AS twin
                    FROM (
                      SELECT
                        named.*,
                        CASE
                          WHEN (
                            TO_BINARY(LOWER(TRIM(whose, ' \t\n\r\f\x0b                 　​‌‍⁠﻿')), 'UTF-8') = TO_BINARY('', 'UTF-8')
                          )
                          THEN NULL
                          ELSE TO_BINARY(whose, 'UTF-8')
                        END AS person,
                        SUBSTRING(
                          SHA2(
                            '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                              WHEN (
                                value_0 IS NULL
                              )
                              THEN 'e531ef0f96240917'
                              ELSE COALESCE(
                                SUBSTRING(
                                  SHA2(
                                    '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                                    256
                                  ),
                                  1,
                                  16
                                ),
                                'e531ef0f96240917'
                              )
                            END || CASE
                              WHEN (
                                value_1 IS NULL
                              )
                              THEN 'e531ef0f96240917'
                              ELSE COALESCE(
                                SUBSTRING(
                                  SHA2(
                                    '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATEDIFF(DAY, CAST('1970-01-01' AS DATE), value_1) AS VARCHAR),
                                    256
                                  ),
                                  1,
                                  16
                                ),
                                'e531ef0f96240917'
                              )
                            END,
                            256
                          ),
                          1,
                          16
                        ) AS likeness
                      FROM (
                        SELECT
                          "town" AS value_0,
                          "bought" AS value_1,
                          "who" AS whose
                        FROM (
                          SELECT
                            *
                          FROM sales
                        ) AS asked
                      ) AS named
                    ) AS owned
                  ) AS counted
                ) AS drawn
              ) AS ranked
              WHERE
                draw <= 3
            ) AS kept
          ) AS named
        ) AS counted
      ) AS defined
    ) AS stepping
  ) AS levels
) AS parted
GROUP BY
  GROUPING SETS (
    (part, level_0, level_1)
  );
