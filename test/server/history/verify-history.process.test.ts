import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { runServerCommand } from '../server-process.ts'
import type { DatabaseFile } from './database-file.ts'
import { createEventHistory, WHERE } from './event-history.ts'

describe('verifying a history', () => {
  let history: DatabaseFile
  beforeEach(async () => {
    history = await createEventHistory()
  })

  describe('with the command', () => {
    const run = (...args: string[]) =>
      runServerCommand(['verify-history', ...args], { PALISADE_DATA_DIR: history.dataDir })

    it('prints the head of every organization', async () => {
      const { status, stdout, stderr } = await run()

      expect([status, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(
        /^ORGANIZATION +EVENTS +HEAD\nacme +250 +[0-9a-f]{64}\nrival +1 +[0-9a-f]{64}\n$/,
      )
    })

    it('names the first broken event and fails', async () => {
      history.tamper(`UPDATE events SET actor = 'user:x' WHERE ${WHERE} IN (7, 9)`)

      const text = await run()
      const json = await run('--json')

      expect([text.status, json.status]).toEqual([1, 1])
      expect(text.stderr).toBe('palisade-server: history of `acme`: event 7 was edited\n')
      expect(text.stdout).toMatch(/^rival +1 /m)
      expect(JSON.parse(json.stdout)).toMatchObject({
        intact: false,
        organizations: [
          { org: 'acme', intact: false, damage: 'edited', sequence: 7 },
          { org: 'rival', intact: true },
        ],
      })
    })

    it('checks one organization and a kept head', async () => {
      history.tamper(`UPDATE events SET actor = 'user:x' WHERE ${WHERE} = 7`)

      const { status, stdout } = await run('--org', 'rival', '--json')
      const [rival] = JSON.parse(stdout).organizations
      expect(status).toBe(0)
      expect((await run('--org', 'rival', '--head', rival.head.hash)).status).toBe(0)
      const other = await run('--org', 'rival', '--head', '1'.repeat(64))
      expect([other.status, other.stderr]).toEqual([1, expect.stringContaining('given head')])
    })

    it('fails without any organization', async () => {
      const elsewhere = { PALISADE_DATA_DIR: join(history.dataDir, 'another') }
      const proof = async () => {
        const { status, stderr } = await runServerCommand(['verify-history'], elsewhere)
        return [status, stderr]
      }
      expect(await proof()).toEqual([78, expect.stringContaining('there is no database')])

      await openDataDirectory(elsewhere.PALISADE_DATA_DIR).close()

      expect(await proof()).toEqual([1, expect.stringContaining('there is no organization')])
    })

    it.each([
      [['--head', '1'.repeat(64)], 2, '`--org`'],
      [['--org', 'acme', '--head', 'x'], 2, '64 lower-case'],
      [['--org', 'absent'], 1, 'no organization `absent`'],
    ])('refuses %j with %i', async (args, status, message) => {
      const outcome = await run(...args)

      expect(outcome).toMatchObject({ status, stderr: expect.stringContaining(message) })
    })
  })
})
