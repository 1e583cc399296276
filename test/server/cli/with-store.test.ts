import { readConfig } from '@palisade/server'
import Sqlite from 'better-sqlite3'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { enrolDeviceCommand } from '../../../server/src/cli/device.ts'
import { verifyHistoryCommand } from '../../../server/src/cli/history.ts'
import {
  listKeysCommand,
  retireKeyCommand,
  rotateKeyCommand,
} from '../../../server/src/cli/keys.ts'
import {
  entitleOrganizationCommand,
  listOrganizationsCommand,
  showOrganizationCommand,
} from '../../../server/src/cli/organization-settings.ts'
import { resetPasswordCommand, revokeUserCommand } from '../../../server/src/cli/user.ts'
import type { Config } from '../../../server/src/config/config.ts'
import { openStore } from '../../../server/src/operations/storage/open-store.ts'
import { MIGRATIONS } from '../../../server/src/store/sql/migrations/migrations.ts'
import { migrate } from '../../../server/src/store/sqlite/migrate.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import { NEWER, TOO_OLD, refusal } from './old-database.ts'

const SOURCES = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  random: randomBytes,
  newId: randomUUID,
}

/** Every command that needs an existing organization, key or user. */
const COMMANDS: readonly [string, (config: Config) => Promise<void>][] = [
  ['verify-history', (config) => verifyHistoryCommand(config, {})],
  ['keys list', (config) => listKeysCommand(config, SOURCES, {})],
  ['keys rotate', (config) => rotateKeyCommand(config, SOURCES, {})],
  ['keys retire', (config) => retireKeyCommand(config, SOURCES, 'kid', {})],
  ['org list', (config) => listOrganizationsCommand(config, {})],
  ['org show', (config) => showOrganizationCommand(config, 'acme', {})],
  [
    'org entitle',
    (config) => entitleOrganizationCommand(config, SOURCES, { name: 'acme', entitled: true }),
  ],
  ['user revoke', (config) => revokeUserCommand(config, SOURCES, 'ann', {})],
  ['user reset-password', (config) => resetPasswordCommand(config, SOURCES, 'ann', {})],
  [
    'device enrol',
    (config) =>
      enrolDeviceCommand(config, SOURCES, {
        org: 'acme',
        server: 'https://palisade.example.com',
        out: join(config.dataDir, 'device.json'),
      }),
  ],
]

describe.each(COMMANDS)('palisade-server %s', (_name, run) => {
  it('creates neither a directory nor a database in a wrong place', async () => {
    const dataDir = join(temporaryDirectory(), 'data')

    await expect(run(readConfig({}, dataDir))).rejects.toEqual(
      refusal(/there is no database at `.*`; set `PALISADE_DATA_DIR` .* `palisade-server init`/),
    )

    expect(existsSync(dataDir)).toBe(false)
  })

  it('does not change a directory without a database', async () => {
    const dataDir = join(temporaryDirectory(), '.palisade')
    mkdirSync(dataDir)

    await expect(run(readConfig({}, join(dataDir, '..')))).rejects.toEqual(
      refusal(/there is no database at/),
    )

    expect(readdirSync(dataDir)).toEqual([])
  })
})

describe('a command on existing data', () => {
  it('refuses an empty file instead of the database', async () => {
    const dataDir = temporaryDirectory()
    writeFileSync(join(dataDir, 'server.db'), '')

    await expect(
      listOrganizationsCommand(readConfig({ PALISADE_DATA_DIR: dataDir }, '/'), {}),
    ).rejects.toEqual(refusal(/there is no database at/))

    expect(readdirSync(dataDir)).toEqual(['server.db'])
  })

  it('does not migrate the database of an older server', async () => {
    const dataDir = temporaryDirectory()
    const database = new Sqlite(join(dataDir, 'server.db'))
    migrate(database, MIGRATIONS)
    const config = readConfig({ PALISADE_DATA_DIR: dataDir }, '/')

    await expect(openStore(config, 'existing', NEWER)).rejects.toEqual(refusal(new RegExp(TOO_OLD)))

    expect(database.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length)
    database.close()
  })
})
