import { describe, expect, it, onTestFinished } from 'vitest'
import type { Migration } from '../../../server/src/store/sql/dialect.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import { TABLES } from '../../../server/src/store/aggregates/aggregates.ts'
import type { OpenStore } from './open-again.ts'

const CHANGED = { code: 'ERR_STORE_SCHEMA_CHANGED' }
const DAMAGED = { code: 'ERR_STORE_SCHEMA_DAMAGED' }
const NEWER = [...MIGRATIONS, () => 'CREATE TABLE more (id TEXT)']

export interface Migratable {
  readonly open: OpenStore
  /** The start of a process of the release with these migrations. */
  migrate(migrations: readonly Migration[]): Promise<void>
  /** Runs SQL without the store. */
  damage(sql: string): Promise<void>
}

/** Guarantees of every driver to a process whose database another release migrates. */
export function describeSchemaGuard(
  name: string,
  prepare: () => Migratable | Promise<Migratable>,
): void {
  describe(name, () => {
    it('neither writes nor reads once a newer release has changed its schema', async () => {
      const { open, migrate } = await prepare()
      const store = await open()
      onTestFinished(() => store.close())
      const write = (key: string) =>
        store.transaction((writer) => writer.secrets.insert(key, new Uint8Array(1)))
      await write('before')
      const generation = store.generation()

      await migrate(NEWER)

      for (const attempt of [
        () => write('after'),
        () => store.ping(),
        () => store.read((reader) => reader.secrets.find('before')),
      ])
        await expect(attempt()).rejects.toMatchObject({
          ...CHANGED,
          message: expect.stringMatching(
            `schema ${NEWER.length} .* ${MIGRATIONS.length}.*start that release`,
          ),
        })
      await expect.poll(() => store.generation()).not.toBe(generation)
    })

    it('answers no ping while any of its tables is missing', async () => {
      const { open, damage } = await prepare()
      const store = await open()
      onTestFinished(() => store.close())

      for (const { name } of TABLES) {
        await damage(`ALTER TABLE ${name} RENAME TO lost`)
        await expect(store.ping()).rejects.toMatchObject({ ...DAMAGED, ...naming(name) })
        await damage(`ALTER TABLE lost RENAME TO ${name}`)
      }
      await expect(store.ping()).resolves.toBeUndefined()
    })

    it('reports a missing table or column for reads and writes', async () => {
      const { open, damage } = await prepare()
      const store = await open()
      onTestFinished(() => store.close())
      const find = () => store.read((reader) => reader.secrets.find('before'))
      const write = () =>
        store.transaction((writer) => writer.secrets.insert('before', new Uint8Array(1)))

      await damage('ALTER TABLE secrets RENAME COLUMN name TO lost')
      await expect(find()).rejects.toMatchObject({ ...DAMAGED, ...naming('name') })
      await expect(write()).rejects.toMatchObject({ ...DAMAGED, ...naming('name') })

      await damage('DROP TABLE secrets')
      await expect(find()).rejects.toMatchObject({ ...DAMAGED, ...naming('secrets') })
      await expect(write()).rejects.toMatchObject({ ...DAMAGED, ...naming('secrets') })
    })

    it('refuses all writers that wait while the schema changes', async () => {
      const { open, migrate } = await prepare()
      const store = await open()
      onTestFinished(() => store.close())

      await migrate(NEWER)
      const attempts = await Promise.allSettled(
        ['a', 'b', 'c'].map((key) =>
          store.transaction((writer) => writer.secrets.insert(key, new Uint8Array(1))),
        ),
      )

      for (const attempt of attempts) expect(attempt).toMatchObject({ reason: CHANGED })
    })
  })
}

function naming(missing: string) {
  return { message: expect.stringMatching(`schema is damaged .*${missing}.*restore a backup`) }
}
