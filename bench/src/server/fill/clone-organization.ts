import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { randomBytes } from 'node:crypto'
import { createSecretToken, hashSecretToken } from '../../../../server/src/tokens/secret-token.ts'

/**
 * Copies the policies and rules of `template` to `count` new organizations with one device each,
 * below the driver: five million rules one by one would take minutes. Answers the device tokens.
 */
export function cloneOrganization(
  directory: string,
  template: string,
  count: number,
): readonly string[] {
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
    { id: '?', org: '?', token_hash: '?', username: 'NULL' },
    'org = ? LIMIT 1',
  )
  const tokens: string[] = []
  for (let n = 0; n < count; n += 1) {
    const org = `${template}-${n}`
    const token = createSecretToken('device', randomBytes)
    database.exec('BEGIN')
    organization.run(org, template)
    policies.run(String(n), org, template)
    rules.run(String(n), template)
    devices.run(randomUUID(), org, hashSecretToken(token), template)
    database.exec('COMMIT')
    tokens.push(token)
  }
  database.close()
  return tokens
}
