import { describe, expect, it, onTestFinished } from 'vitest'
import type { Migration } from '../../../server/src/store/sql/dialect.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import type { OpenStore } from './open-again.ts'

const CHANGED = { code: 'ERR_STORE_SCHEMA_CHANGED' }
const NEWER = [...MIGRATIONS, () => 'CREATE TABLE more (id TEXT)']

export interface Migratable {
  readonly open: OpenStore
  /** What a process of the release with these migrations does at its start. */
  migrate(migrations: readonly Migration[]): Promise<void>
}

/** What every driver promises to a process whose database another release takes over. */
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
            `schema ${NEWER.length} .* ${MIGRATIONS.length}.*start the release`,
          ),
        })
      await expect.poll(() => store.generation()).not.toBe(generation)
    })

    it('refuses each of the writers that wait while the schema changes', async () => {
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
