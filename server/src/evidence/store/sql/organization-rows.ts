import type { Connection } from '../../../store/sql/connection.ts'

/** The numbers of organizations. */
export interface OrganizationRows {
  has(name: string): Promise<boolean>
  /** Makes the organization where it is not there, for which PostgreSQL waits for others who do. */
  ensure(name: string): Promise<number>
}

export function createOrganizationRows(connection: Connection): OrganizationRows {
  const find = connection.prepare<{ readonly id: number }>(
    'SELECT id FROM organizations WHERE name = ?',
  )
  const insert = connection.prepare(
    'INSERT INTO organizations (name, last_record) VALUES (?, 0) ON CONFLICT DO NOTHING',
  )
  return {
    has: async (name) => (await find.get(name)) !== undefined,
    async ensure(name) {
      const known = await find.get(name)
      if (known !== undefined) return known.id
      await insert.run(name)
      return (await find.get(name))?.id ?? 0
    },
  }
}
