import {
  accessRequestSchema,
  listAccessRequestsResponseSchema,
  reviewedAccessRequestSchema,
  type AccessRequest,
  type AccessState,
  type ApproveAccessRequest,
  type CreateAccessRequest,
  type ReviewedAccessRequest,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { apiPath, formatQuery } from './server-url.ts'

/** Absent members let every request through. */
export interface AccessRequestFilter {
  readonly state?: AccessState | undefined
  readonly username?: string | undefined
}

/** Access requests of one organization. Every method throws `ClientError`. */
export interface AccessRequestsClient {
  /** The newest hundred that the caller may see. */
  newest(filter?: AccessRequestFilter): Promise<readonly AccessRequest[]>
  /** With a review for callers who may answer. */
  get(id: string): Promise<ReviewedAccessRequest>
  /** Asks for the caller. */
  create(request: CreateAccessRequest): Promise<AccessRequest>
  /** 409 for a request that has an answer, as have the others. */
  approve(id: string, grant: ApproveAccessRequest): Promise<ReviewedAccessRequest>
  reject(id: string, answer: string): Promise<AccessRequest>
  revoke(id: string, answer: string): Promise<AccessRequest>
  withdraw(id: string): Promise<AccessRequest>
}

export function createAccessRequestsClient(call: Call, root: string): AccessRequestsClient {
  const one = (id: string, ...more: string[]): string => root + apiPath(id, ...more)
  const end = (id: string, how: string, body?: object): Promise<AccessRequest> =>
    call(
      { method: 'POST', path: one(id, how), ...(body === undefined ? {} : { body }) },
      accessRequestSchema,
    )
  return {
    async newest(filter = {}) {
      const path = root + formatQuery({ ...filter })
      return (await call({ method: 'GET', path }, listAccessRequestsResponseSchema)).data
    },
    get: async (id) => call({ method: 'GET', path: one(id) }, reviewedAccessRequestSchema),
    create: async (body) => call({ method: 'POST', path: root, body }, accessRequestSchema),
    approve: async (id, body) =>
      call({ method: 'POST', path: one(id, 'approve'), body }, reviewedAccessRequestSchema),
    reject: (id, answer) => end(id, 'reject', { answer }),
    revoke: (id, answer) => end(id, 'revoke', { answer }),
    withdraw: (id) => end(id, 'withdraw'),
  }
}
