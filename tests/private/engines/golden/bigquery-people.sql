SELECT
  COUNT(*),
  COALESCE(SUM(CASE WHEN person IS NULL THEN 1 ELSE 0 END), 0),
  COALESCE(SUM(CASE WHEN broken THEN 1 ELSE 0 END), 0)
FROM (
  SELECT
    CASE
      WHEN (
        CAST(LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')) AS BYTES) = CAST('' AS BYTES)
      )
      THEN NULL
      ELSE CAST(whose AS BYTES)
    END AS person,
    (
      1 = 0
    ) AS broken
  FROM (
    SELECT
      `who` AS whose
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
          CAST(LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')) AS BYTES) = CAST('' AS BYTES)
        )
        THEN NULL
        ELSE CAST(whose AS BYTES)
      END AS person,
      CAST(REGEXP_REPLACE(
        REGEXP_REPLACE(
          LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')),
          '^[+]?(-?)0*([0-9]+)([.]0*)?$',
          '\\1\\2'
        ),
        '^-0$',
        '0'
      ) AS BYTES) AS plain
    FROM (
      SELECT
        `who` AS whose
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
          substr(
            TO_HEX(
              SHA256('00000000000000000000000000000000000000000000000000000000000000001' || value_0)
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
            CAST(LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')) AS BYTES) = CAST('' AS BYTES)
          )
          THEN NULL
          ELSE CAST(whose AS BYTES)
        END AS person,
        substr(
          TO_HEX(
            SHA256(
              '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                WHEN (
                  value_0 IS NULL
                )
                THEN 'e531ef0f96240917'
                ELSE COALESCE(
                  substr(
                    TO_HEX(
                      SHA256('00000000000000000000000000000000000000000000000000000000000000001' || value_0)
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
                  substr(
                    TO_HEX(
                      SHA256(
                        '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS STRING)
                      )
                    ),
                    1,
                    16
                  ),
                  'e531ef0f96240917'
                )
              END
            )
          ),
          1,
          16
        ) AS likeness
      FROM (
        SELECT
          `town` AS value_0,
          `bought` AS value_1,
          `who` AS whose
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
      ORDER BY CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64), lot
    ) AS place
  FROM (
    SELECT
      drawn.*,
      ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
    FROM (
      SELECT
        counted.*,
        CAST(substr(
          TO_HEX(
            SHA256(
              '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS STRING)
            )
          ),
          1,
          16
        ) AS BYTES) AS lot
      FROM (
        SELECT
          owned.*,
          ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1 AS twin
        FROM (
          SELECT
            named.*,
            CASE
              WHEN (
                CAST(LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')) AS BYTES) = CAST('' AS BYTES)
              )
              THEN NULL
              ELSE CAST(whose AS BYTES)
            END AS person,
            substr(
              TO_HEX(
                SHA256(
                  '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                    WHEN (
                      value_0 IS NULL
                    )
                    THEN 'e531ef0f96240917'
                    ELSE COALESCE(
                      substr(
                        TO_HEX(
                          SHA256('00000000000000000000000000000000000000000000000000000000000000001' || value_0)
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
                      substr(
                        TO_HEX(
                          SHA256(
                            '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS STRING)
                          )
                        ),
                        1,
                        16
                      ),
                      'e531ef0f96240917'
                    )
                  END
                )
              ),
              1,
              16
            ) AS likeness
          FROM (
            SELECT
              `town` AS value_0,
              `bought` AS value_1,
              `who` AS whose
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
      WHEN CAST(value_0 AS BYTES) = CAST('Åbo' AS BYTES)
      THEN 0
      WHEN CAST(value_0 AS BYTES) = CAST('O\'Neil' AS BYTES)
      THEN 1
      WHEN CAST(value_0 AS BYTES) = CAST('C:\\x' AS BYTES)
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
        WHEN number_1 < CAST('18262.0' AS FLOAT64)
        THEN CAST('18262.0' AS FLOAT64)
        WHEN number_1 > CAST('18264.0' AS FLOAT64)
        THEN CAST('18264.0' AS FLOAT64)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('1.0' AS FLOAT64)
        THEN CAST('1.0' AS FLOAT64)
        WHEN number_2 > CAST('3.0' AS FLOAT64)
        THEN CAST('3.0' AS FLOAT64)
        ELSE number_2
      END AS clipped_2,
      CASE
        WHEN number_3 < CAST('18262.0' AS FLOAT64)
        THEN CAST('18262.0' AS FLOAT64)
        WHEN number_3 > CAST('18264.0' AS FLOAT64)
        THEN CAST('18264.0' AS FLOAT64)
        ELSE number_3
      END AS clipped_3,
      CASE
        WHEN number_5 < CAST('0.0' AS FLOAT64)
        THEN CAST('0.0' AS FLOAT64)
        WHEN number_5 > CAST('2.0' AS FLOAT64)
        THEN CAST('2.0' AS FLOAT64)
        ELSE number_5
      END AS clipped_5
    FROM (
      SELECT
        named.*,
        CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64) AS number_1,
        CAST(value_2 AS FLOAT64) AS number_2,
        CAST(DATE_DIFF(value_3, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64) AS number_3,
        CAST(value_5 AS FLOAT64) AS number_5
      FROM (
        SELECT
          value_0,
          value_1,
          siblings AS value_2,
          FIRST_VALUE(value_1) OVER (PARTITION BY person ORDER BY place) AS value_3,
          (
            place = 1
          ) AS value_4,
          CAST(LEAD(CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64)) OVER (PARTITION BY person ORDER BY place) - CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64) AS INT64) AS value_5,
          person,
          place,
          CAST(FLOOR(CAST(16777216 AS FLOAT64) / siblings) AS INT64) AS weight
        FROM (
          SELECT
            ranked.*,
            COUNT(*) OVER (PARTITION BY person) AS siblings,
            ROW_NUMBER() OVER (
              PARTITION BY person
              ORDER BY CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64), lot
            ) AS place
          FROM (
            SELECT
              drawn.*,
              ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
            FROM (
              SELECT
                counted.*,
                CAST(substr(
                  TO_HEX(
                    SHA256(
                      '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS STRING)
                    )
                  ),
                  1,
                  16
                ) AS BYTES) AS lot
              FROM (
                SELECT
                  owned.*,
                  ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1 AS twin
                FROM (
                  SELECT
                    named.*,
                    CASE
                      WHEN (
                        CAST(LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')) AS BYTES) = CAST('' AS BYTES)
                      )
                      THEN NULL
                      ELSE CAST(whose AS BYTES)
                    END AS person,
                    substr(
                      TO_HEX(
                        SHA256(
                          '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                            WHEN (
                              value_0 IS NULL
                            )
                            THEN 'e531ef0f96240917'
                            ELSE COALESCE(
                              substr(
                                TO_HEX(
                                  SHA256('00000000000000000000000000000000000000000000000000000000000000001' || value_0)
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
                              substr(
                                TO_HEX(
                                  SHA256(
                                    '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS STRING)
                                  )
                                ),
                                1,
                                16
                              ),
                              'e531ef0f96240917'
                            )
                          END
                        )
                      ),
                      1,
                      16
                    ) AS likeness
                  FROM (
                    SELECT
                      `town` AS value_0,
                      `bought` AS value_1,
                      `who` AS whose
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
          WHEN CAST(value_0 AS BYTES) = CAST('Åbo' AS BYTES)
          THEN 0
          WHEN CAST(value_0 AS BYTES) = CAST('O\'Neil' AS BYTES)
          THEN 1
          WHEN CAST(value_0 AS BYTES) = CAST('C:\\x' AS BYTES)
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
            WHEN number_1 < CAST('18262.0' AS FLOAT64)
            THEN CAST('18262.0' AS FLOAT64)
            WHEN number_1 > CAST('18264.0' AS FLOAT64)
            THEN CAST('18264.0' AS FLOAT64)
            ELSE number_1
          END AS clipped_1,
          CASE
            WHEN number_2 < CAST('1.0' AS FLOAT64)
            THEN CAST('1.0' AS FLOAT64)
            WHEN number_2 > CAST('3.0' AS FLOAT64)
            THEN CAST('3.0' AS FLOAT64)
            ELSE number_2
          END AS clipped_2,
          CASE
            WHEN number_3 < CAST('18262.0' AS FLOAT64)
            THEN CAST('18262.0' AS FLOAT64)
            WHEN number_3 > CAST('18264.0' AS FLOAT64)
            THEN CAST('18264.0' AS FLOAT64)
            ELSE number_3
          END AS clipped_3,
          CASE
            WHEN number_5 < CAST('0.0' AS FLOAT64)
            THEN CAST('0.0' AS FLOAT64)
            WHEN number_5 > CAST('2.0' AS FLOAT64)
            THEN CAST('2.0' AS FLOAT64)
            ELSE number_5
          END AS clipped_5
        FROM (
          SELECT
            named.*,
            CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64) AS number_1,
            CAST(value_2 AS FLOAT64) AS number_2,
            CAST(DATE_DIFF(value_3, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64) AS number_3,
            CAST(value_5 AS FLOAT64) AS number_5
          FROM (
            SELECT
              value_0,
              value_1,
              siblings AS value_2,
              FIRST_VALUE(value_1) OVER (PARTITION BY person ORDER BY place) AS value_3,
              (
                place = 1
              ) AS value_4,
              CAST(LEAD(CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64)) OVER (PARTITION BY person ORDER BY place) - CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64) AS INT64) AS value_5,
              person,
              place,
              CAST(FLOOR(CAST(16777216 AS FLOAT64) / siblings) AS INT64) AS weight
            FROM (
              SELECT
                ranked.*,
                COUNT(*) OVER (PARTITION BY person) AS siblings,
                ROW_NUMBER() OVER (
                  PARTITION BY person
                  ORDER BY CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS FLOAT64), lot
                ) AS place
              FROM (
                SELECT
                  drawn.*,
                  ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
                FROM (
                  SELECT
                    counted.*,
                    CAST(substr(
                      TO_HEX(
                        SHA256(
                          '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS STRING)
                        )
                      ),
                      1,
                      16
                    ) AS BYTES) AS lot
                  FROM (
                    SELECT
                      owned.*,
                      ROW_NUMBER() OVER (PARTITION BY person, likeness ORDER BY likeness) - 1 AS twin
                    FROM (
                      SELECT
                        named.*,
                        CASE
                          WHEN (
                            CAST(LOWER(TRIM(NORMALIZE(whose, NFC), ' \t\n\r\f\v                 　​‌‍⁠﻿')) AS BYTES) = CAST('' AS BYTES)
                          )
                          THEN NULL
                          ELSE CAST(whose AS BYTES)
                        END AS person,
                        substr(
                          TO_HEX(
                            SHA256(
                              '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                                WHEN (
                                  value_0 IS NULL
                                )
                                THEN 'e531ef0f96240917'
                                ELSE COALESCE(
                                  substr(
                                    TO_HEX(
                                      SHA256('00000000000000000000000000000000000000000000000000000000000000001' || value_0)
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
                                  substr(
                                    TO_HEX(
                                      SHA256(
                                        '00000000000000000000000000000000000000000000000000000000000000001' || CAST(DATE_DIFF(value_1, CAST('1970-01-01' AS DATE), DAY) AS STRING)
                                      )
                                    ),
                                    1,
                                    16
                                  ),
                                  'e531ef0f96240917'
                                )
                              END
                            )
                          ),
                          1,
                          16
                        ) AS likeness
                      FROM (
                        SELECT
                          `town` AS value_0,
                          `bought` AS value_1,
                          `who` AS whose
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
