import { MAX_PATH_DEPTH, type Permission, type Role } from '@palisade/protocol'
import { expect } from 'vitest'
import { createAuditedStore } from '../../server/src/history/audit/audited-store.ts'
import { freshName } from './fresh-name.ts'
import { insertMember } from './test-organization.ts'
import type { TestServer } from './test-server.ts'

/** The owner of a new organization, signed in, with helpers to add members. */
export interface Owner {
  readonly org: string
  readonly username: string
  /** The owner's access token. */
  readonly as: string
  /** With which the owner signs in again. */
  readonly personalToken: string
  /** Adds a new user with a password as a member. Returns the user's access token. */
  addMember(username: string, role: Role, password?: string): Promise<string>
  /** Invites a user of another organization, who accepts. */
  addKnown(username: string, role: Role): Promise<void>
  /** Has the machines of the organization upload all that they record. */
  uploadEverything(): Promise<void>
  /** Creates an access token of the organization. */
  organizationToken(permissions: readonly Permission[]): Promise<string>
}

/** Names that are left out are fresh. */
export async function openOwner(
  test: TestServer,
  org = freshName('acme'),
  username = freshName('alice'),
): Promise<Owner> {
  const { personal_token } = await test.createOrganization(org, username)
  const as = await test.signIn(username, personal_token)
  const now = () => new Date(test.now())
  const store = createAuditedStore({ store: test.store, now })
  const authorOf = (name: string) => ({ actor: `user:${name}`, address: null, request_id: null })
  async function post(list: string, payload: object): Promise<{ token?: string; status?: string }> {
    const made = await test.send('POST', `/api/v1/orgs/${org}/${list}`, { as, payload })
    expect(made.statusCode, made.body).toBe(201)
    return made.json()
  }
  return {
    org,
    username,
    as,
    personalToken: personal_token,
    async addMember(name, role, password = `the password of ${name}`) {
      const member = { org, username: name, role, password }
      await insertMember({ store, now }, { ...member, author: authorOf(username) })
      return test.signIn(name, password)
    },
    async addKnown(name, role) {
      const { status } = await post('members', { username: name, role })
      if (status !== 'invited') return
      await store.write(authorOf(name), async (writer) => {
        await writer.invitations.delete(org, name)
        await writer.memberships.insert({ org, username: name, role })
      })
    },
    async uploadEverything() {
      const evidence = { upload: 'full', path_depth: MAX_PATH_DEPTH, programs: true, users: true }
      const url = `/api/v1/orgs/${org}`
      const set = await test.send('PATCH', url, { as, payload: { evidence } })
      expect(set.statusCode, set.body).toBe(200)
    },
    async organizationToken(permissions) {
      const payload = { name: 'ci', permissions, expires_in_days: 1 }
      const { token = '' } = await post('access-tokens', payload)
      return test.signIn(org, token)
    },
  }
}
