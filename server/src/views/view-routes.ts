import {
  ASSIGNMENT_VERSION_HEADER,
  assignmentVersionHeaderSchema,
  bundleSchema,
  deviceViewSchema,
  NONCE_HEADER,
  nonceSchema,
  RENEWAL_HEADER,
  secondsHeaderSchema,
  selfTestSchema,
  UPDATE_PATH,
  updateQuerySchema,
  viewPolicySchema,
} from '@palisade/protocol'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isKnown, readEntityTags } from '../http/input/entity-tag.ts'
import { errorResponses } from '../http/errors/error-responses.ts'
import { ABOUT_BODIES } from '../http/security-headers.ts'
import { proofSchema, type Proofs } from '../identity/device/require-proof.ts'
import type { AskedAssignment } from './assignments.ts'
import type { Held } from './pack-update.ts'
import type { Requested, ViewService } from './view-service.ts'

const VIEW = '/api/v1/orgs/:org/views/:view'
/** What machines poll. */
export const TIMESTAMP_ROUTE = `${VIEW}/metadata/timestamp.json`
/** Each device asks with its own token, and no two views share a file. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** Of what is asked for again and again, with `If-None-Match`. */
export const VOLATILE = 'private, no-cache'

type RequestedFile = Requested & { readonly file: string }

/** Beside a proof; see the headers in `packages/protocol/src/machine/update.ts`. */
const assignmentHeadersSchema = proofSchema.extend({
  [ASSIGNMENT_VERSION_HEADER]: assignmentVersionHeaderSchema.optional().meta({
    description:
      'Version of the newest assignment that the machine has accepted, 0 for none; without it, the assignment says none',
  }),
  [NONCE_HEADER]: nonceSchema.optional().meta({
    description: 'Signed into the assignment, which shows a refused machine that it is taken again',
  }),
})
type AssignmentHeaders = z.infer<typeof assignmentHeadersSchema>
const updateHeadersSchema = assignmentHeadersSchema.extend({
  [RENEWAL_HEADER]: secondsHeaderSchema.optional().meta({
    description:
      'The machine needs a timestamp issued after this, in seconds since 1970; one is signed every ten minutes at most',
  }),
})
type UpdateHeaders = z.infer<typeof updateHeadersSchema>

const security = [{ device_token: [] }]
const viewParams = z.object({ org: z.string(), view: z.string() })
const fileParams = z.object({ org: z.string(), view: z.string(), file: z.string() })
const metadataResponse = {
  description: 'signed metadata of The Update Framework, version 1',
  content: {
    'application/json': {
      // Of each file the specification says what else is in `signed`.
      schema: z.object({
        signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })),
        signed: z.looseObject({ _type: z.string(), version: z.int(), expires: z.string() }),
      }),
    },
  },
}
const documentResponse = {
  description:
    'a policy without its scope, and with requests that show whether it is read right; its SHA-256 and length stand in the targets file',
  content: {
    'application/json': {
      schema: viewPolicySchema.extend({ self_test: selfTestSchema.optional() }),
    },
  },
}

export interface ViewRouteDeps {
  readonly views: ViewService
  readonly proofs: Pick<Proofs, 'beside'>
}

/**
 * What machines fetch, with a device token and a proof beside it. The timestamp is the exception: a
 * fleet asks for it all day, a proof would cost a signature and 500 bytes each time, and it shows
 * nothing but a hash that is signed anyway. See `packages/protocol/src/machine/view.ts`. */
export function viewRoutes({ views, proofs }: ViewRouteDeps): FastifyPluginAsync {
  return async (app) => {
    app.get<{ Headers: AssignmentHeaders }>(
      '/api/v1/device/view',
      {
        config: { quiet: true, yields: 'completes' },
        onRequest: proofs.beside,
        schema: {
          operationId: 'getDeviceView',
          tags: ['devices'],
          summary: 'Which view this device may fetch; another one once its user changes teams',
          security,
          headers: assignmentHeadersSchema,
          response: { 200: deviceViewSchema, ...errorResponses([400, 401, 403, 409, 429]) },
        },
      },
      async ({ headers }) => views.assign(headers.authorization, readAssignmentAsked(headers)),
    )

    app.get<{ Querystring: z.infer<typeof updateQuerySchema>; Headers: UpdateHeaders }>(
      UPDATE_PATH,
      {
        config: { quiet: true, yields: 'completes' },
        onRequest: proofs.beside,
        schema: {
          operationId: 'getDeviceUpdate',
          tags: ['devices'],
          summary: 'Fetch all that this device lacks at once, signed',
          security,
          headers: updateHeadersSchema,
          querystring: updateQuerySchema,
          response: {
            200: bundleSchema,
            304: z.undefined().describe('unchanged since the `ETag` in `If-None-Match`'),
            ...errorResponses([400, 401, 403, 409, 429]),
          },
        },
      },
      async (request, reply) => {
        const { headers, query } = request
        const update = await views.update(headers.authorization, {
          held: readHeld(query),
          assignment: readAssignmentAsked(headers),
          issuedAfterMs: readIssuedAfter(headers),
          hasTag: readCondition(request),
        })
        return sendVolatile(reply, update)
      },
    )

    app.get<{ Params: Requested }>(
      TIMESTAMP_ROUTE,
      {
        config: { quiet: true, yields: 'begins' },
        schema: {
          operationId: 'getViewTimestamp',
          tags: ['devices'],
          summary: 'Fetch which snapshot of a view is the newest, signed at least hourly',
          params: viewParams,
          security,
          response: {
            200: metadataResponse,
            304: z.undefined().describe('unchanged since the `ETag` in `If-None-Match`'),
            ...errorResponses([400, 401, 403, 404, 429]),
          },
        },
      },
      async (request, reply) => {
        const timestamp = await views.timestamp(request.headers.authorization, request.params)
        const isSame = readCondition(request)(timestamp.etag)
        return sendVolatile(reply, isSame ? { ...timestamp, body: null } : timestamp)
      },
    )

    app.get<{ Params: RequestedFile }>(
      `${VIEW}/metadata/:file`,
      {
        config: { quiet: true, yields: 'completes' },
        onRequest: proofs.beside,
        schema: {
          operationId: 'getViewMetadata',
          tags: ['devices'],
          summary: 'Fetch `N.root.json`, `N.snapshot.json` or `N.targets.json` of a view',
          params: fileParams,
          headers: proofSchema,
          security,
          response: { 200: metadataResponse, ...errorResponses([400, 401, 403, 404, 429]) },
        },
      },
      async (request, reply) => {
        const { authorization } = request.headers
        const { file } = request.params
        return sendImmutable(reply, await views.metadata(authorization, request.params, file))
      },
    )

    app.get<{ Params: RequestedFile }>(
      `${VIEW}/targets/policies/:file`,
      {
        config: { quiet: true, yields: 'completes' },
        onRequest: proofs.beside,
        schema: {
          operationId: 'getViewPolicy',
          tags: ['devices'],
          summary: 'Fetch a policy of a view by its SHA-256 and id',
          params: fileParams,
          headers: proofSchema,
          security,
          response: { 200: documentResponse, ...errorResponses([400, 401, 403, 404, 429]) },
        },
      },
      async (request, reply) => {
        const { authorization } = request.headers
        const path = `policies/${request.params.file}`
        return sendImmutable(reply, await views.document(authorization, request.params, path))
      },
    )
  }
}

function readHeld({ view, root, targets }: z.infer<typeof updateQuerySchema>): Held {
  return {
    view: view ?? null,
    root: Number(root ?? 1),
    targets: targets === undefined ? null : Number(targets),
  }
}

function readAssignmentAsked(headers: AssignmentHeaders): AskedAssignment {
  const version = headers[ASSIGNMENT_VERSION_HEADER]
  const heldVersion = version === undefined ? null : Number(version)
  return { heldVersion, nonce: headers[NONCE_HEADER] ?? null }
}

/** In milliseconds; null where any timestamp does. */
function readIssuedAfter({ [RENEWAL_HEADER]: seconds }: UpdateHeaders): number | null {
  return seconds === undefined ? null : Number(seconds) * 1000
}

/** Whether who asks has what has a tag. Throws ApiError 400 for a header that cannot be read. */
function readCondition(request: FastifyRequest): (etag: string) => boolean {
  const header = request.headers['if-none-match']
  const tags = readEntityTags('if-none-match', header)
  // What agents send; the list that the header may hold is for others.
  return (etag) => header === etag || isKnown(tags, etag)
}

function sendVolatile(
  reply: FastifyReply,
  { etag, body }: { readonly etag: string; readonly body: string | null },
): FastifyReply {
  reply.header('etag', etag).header('cache-control', VOLATILE)
  if (body === null) return sendNothing(reply)
  // Of a text the framework would say its character set.
  return reply.header('content-type', 'application/json').send(Buffer.from(body))
}

function sendNothing(reply: FastifyReply): FastifyReply {
  for (const name of ABOUT_BODIES) reply.removeHeader(name)
  return reply.code(304).send()
}

function sendImmutable(reply: FastifyReply, body: Uint8Array): FastifyReply {
  return reply
    .header('cache-control', IMMUTABLE)
    .header('content-type', 'application/json')
    .send(body)
}
