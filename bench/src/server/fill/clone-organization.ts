import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { randomBytes } from 'node:crypto'
import type { Filled } from './fill-organization.ts'
import { formatViewId, viewSecretName } from '../../../../server/src/views/content/view-id.ts'
import { DEVICE_TOKEN_KEY } from '../../../../server/src/identity/device/device-tokens.ts'
import { createLongTokens, createThumbprint } from './device-tokens.ts'

/** The values with which devices poll an organization. */
export type Polled = Pick<Filled, 'org' | 'view' | 'deviceTokens'>

/**
 * Copies the policies and rules of `template` to `count` new organizations with one device each.
 * Writes SQL directly, because the driver would take minutes for five million rules. Returns the
 * organizations with their device tokens.
 */
export function cloneOrganization(
  directory: string,
  template: string,
  count: number,
): readonly Polled[] {
  const database = new DatabaseSync(join(directory, 'server.db'))
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -65536')
  const columnsOf = (table: string, without: readonly string[]): string[] =>
    database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !without.includes(name))
  const copy = (table: string, changed: Readonly<Record<string, string>>, where: string) => {
    const kept = columnsOf(table, ['place', ...Object.keys(changed)])
    const names = [...Object.keys(changed), ...kept].join(', ')
    const values = [...Object.values(changed), ...kept].join(', ')
    return database.prepare(
      `INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table} WHERE ${where}`,
    )
  }
  const organization = copy('organizations', { name: '?' }, 'name = ?')
  const policies = copy('policies', { id: `id || '-' || ?`, org: '?' }, 'org = ?')
  const rules = copy(
    'rules',
    { policy_id: `policy_id || '-' || ?` },
    'policy_id IN (SELECT id FROM policies WHERE org = ?) ORDER BY place',
  )
  const devices = copy(
    'devices',
    { id: '?', org: '?', thumbprint: '?', username: 'NULL' },
    'org = ? LIMIT 1',
  )
  const secrets = database.prepare('INSERT INTO secrets (name, value) VALUES (?, ?)')
  const key = database.prepare('SELECT value FROM secrets WHERE name = ?').get(DEVICE_TOKEN_KEY)
  const tokens = createLongTokens(key?.['value'] as Uint8Array)
  const cloned: Polled[] = []
  for (let n = 0; n < count; n += 1) {
    const org = `${template}-${n}`
    const [id, thumbprint] = [randomUUID(), createThumbprint()]
    database.exec('BEGIN')
    organization.run(org, template)
    policies.run(String(n), org, template)
    rules.run(String(n), template)
    devices.run(id, org, thumbprint, template)
    const secret = randomBytes(32)
    secrets.run(viewSecretName(org), secret)
    database.exec('COMMIT')
    cloned.push({
      org,
      view: formatViewId(secret, org, { teams: [], base: null }),
      deviceTokens: [tokens.issue({ id, thumbprint })],
    })
  }
  database.close()
  return cloned
}
