SELECT
  COUNT(*),
  COALESCE(SUM(CASE WHEN person IS NULL THEN 1 ELSE 0 END), 0),
  COALESCE(SUM(CASE WHEN broken THEN 1 ELSE 0 END), 0)
FROM (
  SELECT
    CASE
      WHEN (
        (
          LOWER(
            TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
          ) COLLATE "C"
        ) = (
          '' COLLATE "C"
        )
      )
      THEN NULL
      ELSE (
        whose COLLATE "C"
      )
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
          (
            LOWER(
              TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
            ) COLLATE "C"
          ) = (
            '' COLLATE "C"
          )
        )
        THEN NULL
        ELSE (
          whose COLLATE "C"
        )
      END AS person,
      (
        REGEXP_REPLACE(
          REGEXP_REPLACE(
            LOWER(
              TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
            ),
            '^[+]?(-?)0*([0-9]+)([.]0*)?$',
            '\1\2'
          ),
          '^-0$',
          '0'
        ) COLLATE "C"
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
          SUBSTRING(ENCODE(
            SHA256(
              CONVERT_TO(
                '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                'UTF8'
              )
            ),
            'hex'
          ) FROM 1 FOR 16),
          'e531ef0f96240917'
        )
      END AS digits
    FROM (
      SELECT
        named.*,
        CASE
          WHEN (
            (
              LOWER(
                TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
              ) COLLATE "C"
            ) = (
              '' COLLATE "C"
            )
          )
          THEN NULL
          ELSE (
            whose COLLATE "C"
          )
        END AS person,
        SUBSTRING(ENCODE(
          SHA256(
            CONVERT_TO(
              '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                WHEN (
                  value_0 IS NULL
                )
                THEN 'e531ef0f96240917'
                ELSE COALESCE(
                  SUBSTRING(ENCODE(
                    SHA256(
                      CONVERT_TO(
                        '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                        'UTF8'
                      )
                    ),
                    'hex'
                  ) FROM 1 FOR 16),
                  'e531ef0f96240917'
                )
              END || CASE
                WHEN (
                  value_1 IS NULL
                )
                THEN 'e531ef0f96240917'
                ELSE COALESCE(
                  SUBSTRING(ENCODE(
                    SHA256(
                      CONVERT_TO(
                        '00000000000000000000000000000000000000000000000000000000000000001' || CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS TEXT),
                        'UTF8'
                      )
                    ),
                    'hex'
                  ) FROM 1 FOR 16),
                  'e531ef0f96240917'
                )
              END,
              'UTF8'
            )
          ),
          'hex'
        ) FROM 1 FOR 16) AS likeness
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
      ORDER BY CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION), lot
    ) AS place
  FROM (
    SELECT
      drawn.*,
      ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
    FROM (
      SELECT
        counted.*,
        (
          SUBSTRING(ENCODE(
            SHA256(
              CONVERT_TO(
                '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS TEXT),
                'UTF8'
              )
            ),
            'hex'
          ) FROM 1 FOR 16) COLLATE "C"
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
                (
                  LOWER(
                    TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
                  ) COLLATE "C"
                ) = (
                  '' COLLATE "C"
                )
              )
              THEN NULL
              ELSE (
                whose COLLATE "C"
              )
            END AS person,
            SUBSTRING(ENCODE(
              SHA256(
                CONVERT_TO(
                  '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                    WHEN (
                      value_0 IS NULL
                    )
                    THEN 'e531ef0f96240917'
                    ELSE COALESCE(
                      SUBSTRING(ENCODE(
                        SHA256(
                          CONVERT_TO(
                            '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                            'UTF8'
                          )
                        ),
                        'hex'
                      ) FROM 1 FOR 16),
                      'e531ef0f96240917'
                    )
                  END || CASE
                    WHEN (
                      value_1 IS NULL
                    )
                    THEN 'e531ef0f96240917'
                    ELSE COALESCE(
                      SUBSTRING(ENCODE(
                        SHA256(
                          CONVERT_TO(
                            '00000000000000000000000000000000000000000000000000000000000000001' || CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS TEXT),
                            'UTF8'
                          )
                        ),
                        'hex'
                      ) FROM 1 FOR 16),
                      'e531ef0f96240917'
                    )
                  END,
                  'UTF8'
                )
              ),
              'hex'
            ) FROM 1 FOR 16) AS likeness
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
      WHEN (
        value_0 COLLATE "C"
      ) = (
        'Åbo' COLLATE "C"
      )
      THEN 0
      WHEN (
        value_0 COLLATE "C"
      ) = (
        'O''Neil' COLLATE "C"
      )
      THEN 1
      WHEN (
        value_0 COLLATE "C"
      ) = (
        'C:\x' COLLATE "C"
      )
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
        WHEN number_1 < CAST('18262.0' AS DOUBLE PRECISION)
        THEN CAST('18262.0' AS DOUBLE PRECISION)
        WHEN number_1 > CAST('18264.0' AS DOUBLE PRECISION)
        THEN CAST('18264.0' AS DOUBLE PRECISION)
        ELSE number_1
      END AS clipped_1,
      CASE
        WHEN number_2 < CAST('1.0' AS DOUBLE PRECISION)
        THEN CAST('1.0' AS DOUBLE PRECISION)
        WHEN number_2 > CAST('3.0' AS DOUBLE PRECISION)
        THEN CAST('3.0' AS DOUBLE PRECISION)
        ELSE number_2
      END AS clipped_2,
      CASE
        WHEN number_3 < CAST('18262.0' AS DOUBLE PRECISION)
        THEN CAST('18262.0' AS DOUBLE PRECISION)
        WHEN number_3 > CAST('18264.0' AS DOUBLE PRECISION)
        THEN CAST('18264.0' AS DOUBLE PRECISION)
        ELSE number_3
      END AS clipped_3,
      CASE
        WHEN number_5 < CAST('0.0' AS DOUBLE PRECISION)
        THEN CAST('0.0' AS DOUBLE PRECISION)
        WHEN number_5 > CAST('2.0' AS DOUBLE PRECISION)
        THEN CAST('2.0' AS DOUBLE PRECISION)
        ELSE number_5
      END AS clipped_5
    FROM (
      SELECT
        named.*,
        CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION) AS number_1,
        CAST(value_2 AS DOUBLE PRECISION) AS number_2,
        CAST(CASE WHEN ISFINITE(value_3) THEN value_3 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION) AS number_3,
        CAST(value_5 AS DOUBLE PRECISION) AS number_5
      FROM (
        SELECT
          value_0,
          value_1,
          siblings AS value_2,
          FIRST_VALUE(value_1) OVER (PARTITION BY person ORDER BY place) AS value_3,
          (
            place = 1
          ) AS value_4,
          CAST(LEAD(
            CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION)
          ) OVER (PARTITION BY person ORDER BY place) - CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION) AS BIGINT) AS value_5,
          person,
          place,
          CAST(FLOOR(CAST(16777216 AS DOUBLE PRECISION) / siblings) AS BIGINT) AS weight
        FROM (
          SELECT
            ranked.*,
            COUNT(*) OVER (PARTITION BY person) AS siblings,
            ROW_NUMBER() OVER (
              PARTITION BY person
              ORDER BY CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION), lot
            ) AS place
          FROM (
            SELECT
              drawn.*,
              ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
            FROM (
              SELECT
                counted.*,
                (
                  SUBSTRING(ENCODE(
                    SHA256(
                      CONVERT_TO(
                        '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS TEXT),
                        'UTF8'
                      )
                    ),
                    'hex'
                  ) FROM 1 FOR 16) COLLATE "C"
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
                        (
                          LOWER(
                            TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
                          ) COLLATE "C"
                        ) = (
                          '' COLLATE "C"
                        )
                      )
                      THEN NULL
                      ELSE (
                        whose COLLATE "C"
                      )
                    END AS person,
                    SUBSTRING(ENCODE(
                      SHA256(
                        CONVERT_TO(
                          '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                            WHEN (
                              value_0 IS NULL
                            )
                            THEN 'e531ef0f96240917'
                            ELSE COALESCE(
                              SUBSTRING(ENCODE(
                                SHA256(
                                  CONVERT_TO(
                                    '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                                    'UTF8'
                                  )
                                ),
                                'hex'
                              ) FROM 1 FOR 16),
                              'e531ef0f96240917'
                            )
                          END || CASE
                            WHEN (
                              value_1 IS NULL
                            )
                            THEN 'e531ef0f96240917'
                            ELSE COALESCE(
                              SUBSTRING(ENCODE(
                                SHA256(
                                  CONVERT_TO(
                                    '00000000000000000000000000000000000000000000000000000000000000001' || CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS TEXT),
                                    'UTF8'
                                  )
                                ),
                                'hex'
                              ) FROM 1 FOR 16),
                              'e531ef0f96240917'
                            )
                          END,
                          'UTF8'
                        )
                      ),
                      'hex'
                    ) FROM 1 FOR 16) AS likeness
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
          WHEN (
            value_0 COLLATE "C"
          ) = (
            'Åbo' COLLATE "C"
          )
          THEN 0
          WHEN (
            value_0 COLLATE "C"
          ) = (
            'O''Neil' COLLATE "C"
          )
          THEN 1
          WHEN (
            value_0 COLLATE "C"
          ) = (
            'C:\x' COLLATE "C"
          )
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
            WHEN number_1 < CAST('18262.0' AS DOUBLE PRECISION)
            THEN CAST('18262.0' AS DOUBLE PRECISION)
            WHEN number_1 > CAST('18264.0' AS DOUBLE PRECISION)
            THEN CAST('18264.0' AS DOUBLE PRECISION)
            ELSE number_1
          END AS clipped_1,
          CASE
            WHEN number_2 < CAST('1.0' AS DOUBLE PRECISION)
            THEN CAST('1.0' AS DOUBLE PRECISION)
            WHEN number_2 > CAST('3.0' AS DOUBLE PRECISION)
            THEN CAST('3.0' AS DOUBLE PRECISION)
            ELSE number_2
          END AS clipped_2,
          CASE
            WHEN number_3 < CAST('18262.0' AS DOUBLE PRECISION)
            THEN CAST('18262.0' AS DOUBLE PRECISION)
            WHEN number_3 > CAST('18264.0' AS DOUBLE PRECISION)
            THEN CAST('18264.0' AS DOUBLE PRECISION)
            ELSE number_3
          END AS clipped_3,
          CASE
            WHEN number_5 < CAST('0.0' AS DOUBLE PRECISION)
            THEN CAST('0.0' AS DOUBLE PRECISION)
            WHEN number_5 > CAST('2.0' AS DOUBLE PRECISION)
            THEN CAST('2.0' AS DOUBLE PRECISION)
            ELSE number_5
          END AS clipped_5
        FROM (
          SELECT
            named.*,
            CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION) AS number_1,
            CAST(value_2 AS DOUBLE PRECISION) AS number_2,
            CAST(CASE WHEN ISFINITE(value_3) THEN value_3 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION) AS number_3,
            CAST(value_5 AS DOUBLE PRECISION) AS number_5
          FROM (
            SELECT
              value_0,
              value_1,
              siblings AS value_2,
              FIRST_VALUE(value_1) OVER (PARTITION BY person ORDER BY place) AS value_3,
              (
                place = 1
              ) AS value_4,
              CAST(LEAD(
                CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION)
              ) OVER (PARTITION BY person ORDER BY place) - CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION) AS BIGINT) AS value_5,
              person,
              place,
              CAST(FLOOR(CAST(16777216 AS DOUBLE PRECISION) / siblings) AS BIGINT) AS weight
            FROM (
              SELECT
                ranked.*,
                COUNT(*) OVER (PARTITION BY person) AS siblings,
                ROW_NUMBER() OVER (
                  PARTITION BY person
                  ORDER BY CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS DOUBLE PRECISION), lot
                ) AS place
              FROM (
                SELECT
                  drawn.*,
                  ROW_NUMBER() OVER (PARTITION BY person ORDER BY lot) AS draw
                FROM (
                  SELECT
                    counted.*,
                    (
                      SUBSTRING(ENCODE(
                        SHA256(
                          CONVERT_TO(
                            '00000000000000000000000000000000000000000000000000000000000000003' || likeness || CAST(twin AS TEXT),
                            'UTF8'
                          )
                        ),
                        'hex'
                      ) FROM 1 FOR 16) COLLATE "C"
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
                            (
                              LOWER(
                                TRIM(' 	
                 　​‌‍⁠﻿' FROM CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE(whose, NFC) ELSE whose END)
                              ) COLLATE "C"
                            ) = (
                              '' COLLATE "C"
                            )
                          )
                          THEN NULL
                          ELSE (
                            whose COLLATE "C"
                          )
                        END AS person,
                        SUBSTRING(ENCODE(
                          SHA256(
                            CONVERT_TO(
                              '00000000000000000000000000000000000000000000000000000000000000002' || CASE
                                WHEN (
                                  value_0 IS NULL
                                )
                                THEN 'e531ef0f96240917'
                                ELSE COALESCE(
                                  SUBSTRING(ENCODE(
                                    SHA256(
                                      CONVERT_TO(
                                        '00000000000000000000000000000000000000000000000000000000000000001' || value_0,
                                        'UTF8'
                                      )
                                    ),
                                    'hex'
                                  ) FROM 1 FOR 16),
                                  'e531ef0f96240917'
                                )
                              END || CASE
                                WHEN (
                                  value_1 IS NULL
                                )
                                THEN 'e531ef0f96240917'
                                ELSE COALESCE(
                                  SUBSTRING(ENCODE(
                                    SHA256(
                                      CONVERT_TO(
                                        '00000000000000000000000000000000000000000000000000000000000000001' || CAST(CASE WHEN ISFINITE(value_1) THEN value_1 - CAST('1970-01-01' AS DATE) END AS TEXT),
                                        'UTF8'
                                      )
                                    ),
                                    'hex'
                                  ) FROM 1 FOR 16),
                                  'e531ef0f96240917'
                                )
                              END,
                              'UTF8'
                            )
                          ),
                          'hex'
                        ) FROM 1 FOR 16) AS likeness
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
