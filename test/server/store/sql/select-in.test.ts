import Sqlite from 'better-sqlite3'
import { expect, it, onTestFinished } from 'vitest'
import { createSelectIn } from '../../../../server/src/store/sql/select-in.ts'
import { createSqliteConnection } from '../../../../server/src/store/sqlite/sqlite-connection.ts'

it.each([0, 1, 3, 4, 5, 299, 300, 301, 700])(
  'finds the rows of %i keys, each row once',
  async (count) => {
    const database = new Sqlite(':memory:')
    onTestFinished(() => {
      database.close()
    })
    database.exec(`CREATE TABLE numbers (kind TEXT, n INTEGER);
      WITH RECURSIVE up(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM up WHERE n < 799)
      INSERT INTO numbers SELECT 'own', n FROM up UNION ALL SELECT 'other', n FROM up`)
    const select = createSelectIn<{ readonly n: number }>(
      createSqliteConnection(database),
      (list) => `SELECT n FROM numbers WHERE kind = ? AND n IN (${list}) ORDER BY n`,
    )
    const keys = Array.from({ length: count }, (_, index) => index)

    expect((await select(['own'], keys)).map(({ n }) => n)).toEqual(keys)
  },
)
