import type { Permission, Role } from '@palisade/protocol'
import { expect } from 'vitest'
import { createAuditedStore } from '../../server/src/history/audit/audited-store.ts'
import type { TestServer } from './test-server.ts'

/** The owner of a new organization, signed in, who lets others in. */
export interface Owner {
  /** His access token. */
  readonly as: string
  /** Adds a member; with a password a new user, whose access token this answers. */
  addMember(username: string, role: Role, password: string): Promise<string>
  /** Adds somebody whom another organization made, who accepts. */
  addKnown(username: string, role: Role): Promise<void>
  /** An access token of the organization itself. */
  organizationToken(permissions: readonly Permission[]): Promise<string>
}

export async function openOwner(test: TestServer, org: string, username: string): Promise<Owner> {
  const { personal_token } = await test.createOrganization(org, username)
  const as = await test.signIn(username, personal_token)
  async function post(list: string, payload: object): Promise<{ token?: string; status?: string }> {
    const made = await test.send('POST', `/api/v1/orgs/${org}/${list}`, { as, payload })
    expect(made.statusCode, made.body).toBe(201)
    return made.json()
  }
  return {
    as,
    async addMember(name, role, password) {
      await post('members', { username: name, role, password })
      return test.signIn(name, password)
    },
    async addKnown(name, role) {
      const { status } = await post('members', { username: name, role })
      if (status !== 'invited') return
      const author = { actor: `user:${name}`, address: null, request_id: null }
      const store = createAuditedStore({ store: test.store, now: () => new Date(test.now()) })
      await store.write(author, async (writer) => {
        await writer.invitations.delete(org, name)
        await writer.memberships.insert({ org, username: name, role })
      })
    },
    async organizationToken(permissions) {
      const payload = { name: 'ci', permissions, expires_in_days: 1 }
      const { token = '' } = await post('access-tokens', payload)
      return test.signIn(org, token)
    },
  }
}
