import {
  createdAccessTokenSchema,
  listAccessTokensResponseSchema,
  type AccessToken,
  type CreateAccessTokenRequest,
  type CreatedAccessToken,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { collectPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** Personal tokens of the caller, or tokens of an organization. */
export interface AccessTokensClient {
  /** Lists the tokens that are not revoked, page by page. */
  list(): Promise<readonly AccessToken[]>
  /** `token` in the answer is the secret and is shown only once. */
  create(body: CreateAccessTokenRequest): Promise<CreatedAccessToken>
  revoke(tokenId: string): Promise<void>
}

export function createAccessTokensClient(call: Call, root: string): AccessTokensClient {
  return {
    list: async () => collectPages(call, { path: root, page: listAccessTokensResponseSchema }),
    create: async (body) => call({ method: 'POST', path: root, body }, createdAccessTokenSchema),
    revoke: async (tokenId) => call.empty({ method: 'DELETE', path: root + apiPath(tokenId) }),
  }
}
