import {
  listInvitationsResponseSchema,
  memberSchema,
  type Invitation,
  type Member,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { collectPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** Invitations of the caller to organizations. */
export interface InvitationsClient {
  /** Page by page. */
  list(): Promise<readonly Invitation[]>
  accept(org: string): Promise<Member>
  decline(org: string): Promise<void>
}

export function createInvitationsClient(call: Call): InvitationsClient {
  const root = '/api/v1/user/invitations'
  return {
    list: async () => collectPages(call, { path: root, page: listInvitationsResponseSchema }),
    accept: async (org) =>
      call({ method: 'POST', path: `${root}${apiPath(org, 'accept')}` }, memberSchema),
    decline: async (org) => call.empty({ method: 'DELETE', path: root + apiPath(org) }),
  }
}
