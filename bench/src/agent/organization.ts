import { createServerClient, type OrganizationClient } from '../../../packages/client/src/index.ts'
import { ORG, type Machine } from './machine.ts'

/** The organization of the machine, as its owner. */
export function openOrganization({ server, owner }: Pick<Machine, 'server' | 'owner'>) {
  return createServerClient({
    server: `http://127.0.0.1:${server.port}`,
    credentials: { username: owner.username, secret: owner.token },
  }).organization(ORG)
}

/** Id of the first policy, which has rules of the network. */
export async function firstPolicy({ policies }: OrganizationClient): Promise<string> {
  for await (const { id } of policies.list({ pageSize: 1 })) return id
  throw new Error('the organization has no policy')
}
