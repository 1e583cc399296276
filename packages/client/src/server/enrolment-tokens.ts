import {
  createdEnrolmentTokenSchema,
  listEnrolmentTokensResponseSchema,
  type CreateEnrolmentTokenRequest,
  type CreatedEnrolmentToken,
  type EnrolmentToken,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { collectPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** What machines may enrol themselves with. */
export interface EnrolmentTokensClient {
  /** Not revoked, page by page; expired ones for 30 days, and used up ones. */
  list(): Promise<readonly EnrolmentToken[]>
  /** `token` in the answer is all that a machine needs, and is shown once. */
  create(body: CreateEnrolmentTokenRequest): Promise<CreatedEnrolmentToken>
  /** Devices that were enrolled with it stay. */
  revoke(tokenId: string): Promise<void>
}

export function createEnrolmentTokensClient(call: Call, root: string): EnrolmentTokensClient {
  return {
    list: async () => collectPages(call, { path: root, page: listEnrolmentTokensResponseSchema }),
    create: async (body) => call({ method: 'POST', path: root, body }, createdEnrolmentTokenSchema),
    revoke: async (tokenId) => call.empty({ method: 'DELETE', path: root + apiPath(tokenId) }),
  }
}
