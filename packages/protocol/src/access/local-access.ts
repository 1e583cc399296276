import { z } from 'zod'
import { accessRequestSchema } from './access-request.ts'
import { grantStatusSchema } from './grant-status.ts'

/** `code` is stable, such as `unreachable` or `limit_exceeded`. */
const errorSchema = z.object({ code: z.string(), message: z.string() })

/** Answer of the local API to `POST /v1/access-requests`, whose body is `CreateAccessRequest`. */
export const localAccessResultSchema = z.object({
  outcome: z.enum(['requested', 'failed']),
  request: accessRequestSchema.nullable(),
  error: errorSchema.nullable(),
})
export type LocalAccessResult = z.infer<typeof localAccessResultSchema>

/** Answer of the local API to `GET /v1/access-requests/list`. */
export const localAccessListSchema = z.object({
  /** Newest first, as the server knows them; a program in a sandbox sees those of its sandbox. */
  requests: z.array(accessRequestSchema),
  /** The grants as this machine knows them. */
  grants: z.array(grantStatusSchema),
  /** Why the list of requests is missing or of an earlier time. */
  error: errorSchema.nullable(),
})
export type LocalAccessList = z.infer<typeof localAccessListSchema>
