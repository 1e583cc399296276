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
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isKnown, readEntityTags } from '../http/input/entity-tag.ts'
import { ABOUT_BODIES } from '../http/security-headers.ts'
import { proofSchema, type Proofs } from '../identity/device/require-proof.ts'
import { defineRoute, type Route } from '../identity/routes/route.ts'
import type { AskedAssignment } from './assignments.ts'
import type { Held } from './pack-update.ts'
import type { ViewService } from './view-service.ts'

const VIEW = '/api/v1/orgs/:org/views/:view' as const
/** The route that machines poll. */
export const TIMESTAMP_ROUTE = `${VIEW}/metadata/timestamp.json` as const
/** Each device asks with its own token, and no two views share a file. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** For resources that are polled with `If-None-Match`. */
export const VOLATILE = 'private, no-cache'

/** Beside a proof; see the headers in `packages/protocol/src/machine/update.ts`. */
const assignmentHeadersSchema = proofSchema.extend({
  [ASSIGNMENT_VERSION_HEADER]: assignmentVersionHeaderSchema.optional().meta({
    description: 'Version of the last accepted assignment; 0, and absent, for none',
  }),
  [NONCE_HEADER]: nonceSchema.optional().meta({
    description: 'Signed into the assignment, to prove that a refused machine is accepted again',
  }),
})
type AssignmentHeaders = z.infer<typeof assignmentHeadersSchema>
const updateHeadersSchema = assignmentHeadersSchema.extend({
  [RENEWAL_HEADER]: secondsHeaderSchema.optional().meta({
    description:
      'Asks for a timestamp issued after this second since 1970; one is signed in ten minutes',
  }),
})
/** The timestamp alone needs no proof. Loose: a strict schema would drop the other headers. */
const pollHeadersSchema = z.looseObject({
  [ASSIGNMENT_VERSION_HEADER]: assignmentVersionHeaderSchema.optional().meta({
    description: 'Version of the last accepted assignment; no 304 while there is a later one',
  }),
})
type UpdateHeaders = z.infer<typeof updateHeadersSchema>

const tags = ['devices']
const machines = { callers: 'machines', credential: 'device_token' } as const
const notModified = z.undefined().describe('unchanged since the `ETag` in `If-None-Match`')
const metadataResponse = {
  description: 'signed metadata of The Update Framework, version 1',
  content: {
    'application/json': {
      // The TUF specification defines the other members of `signed` in each file.
      schema: z.object({
        signatures: z.array(z.strictObject({ keyid: z.string(), sig: z.string() })),
        signed: z.looseObject({ _type: z.string(), version: z.int(), expires: z.string() }),
      }),
    },
  },
}
const documentResponse = {
  description:
    'a policy without its scope, with a self-test; the targets file has its SHA-256 and length',
  content: {
    'application/json': {
      schema: viewPolicySchema.extend({ self_test: selfTestSchema.optional() }),
    },
  },
}

export interface ViewRouteDeps {
  readonly views: ViewService
  readonly proofs: Pick<Proofs, 'requireTokenProof'>
}

/**
 * The files that machines fetch with a device token and a proof. The timestamp needs no proof: a
 * fleet polls it all day, a proof would cost a signature and 500 bytes each time, and the response
 * shows only a hash that is signed anyway. See `packages/protocol/src/machine/view.ts`.
 */
export function viewRoutes({ views, proofs }: ViewRouteDeps): Route[] {
  return [...updateRoutes({ views, proofs }), ...fileRoutes({ views, proofs })]
}

function updateRoutes({ views, proofs }: ViewRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: '/api/v1/device/view',
        operationId: 'getDeviceView',
        tags,
        summary: 'Get the view of this device; it changes with the teams of its user',
        ...machines,
        prove: proofs.requireTokenProof,
        headers: assignmentHeadersSchema,
        query: null,
        config: { quiet: true, yields: 'completes' },
        answers: { 200: deviceViewSchema },
        errors: [409],
      },
      async ({ headers }) => views.assign(headers.authorization, readAssignmentAsked(headers)),
    ),
    defineRoute(
      {
        method: 'GET',
        path: UPDATE_PATH,
        operationId: 'getDeviceUpdate',
        tags,
        summary: 'Fetch all signed files that this device lacks',
        ...machines,
        prove: proofs.requireTokenProof,
        headers: updateHeadersSchema,
        query: updateQuerySchema,
        config: { quiet: true, yields: 'completes' },
        answers: { 200: bundleSchema, 304: notModified },
        errors: [409],
      },
      async ({ headers, query, request, reply }) => {
        const update = await views.update(headers.authorization, {
          held: readHeld(query),
          assignment: readAssignmentAsked(headers),
          issuedAfterMs: readIssuedAfter(headers),
          hasTag: readCondition(request),
        })
        return sendVolatile(reply, update)
      },
    ),
    defineRoute(
      {
        method: 'GET',
        path: TIMESTAMP_ROUTE,
        operationId: 'getViewTimestamp',
        tags,
        summary: 'Fetch the timestamp of a view: its newest snapshot, signed at least hourly',
        ...machines,
        headers: pollHeadersSchema,
        query: null,
        config: { quiet: true, yields: 'begins' },
        answers: { 200: metadataResponse, 304: notModified },
        errors: [404],
      },
      async ({ headers, params, request, reply }) => {
        const held = headers[ASSIGNMENT_VERSION_HEADER]
        const heldVersion = held === undefined ? null : Number(held)
        const timestamp = await views.timestamp(headers.authorization, params, heldVersion)
        const isSame = readCondition(request)(timestamp.etag) && !timestamp.isBehind
        return sendVolatile(reply, isSame ? { ...timestamp, body: null } : timestamp)
      },
    ),
  ]
}

function fileRoutes({ views, proofs }: ViewRouteDeps): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: `${VIEW}/metadata/:file`,
        operationId: 'getViewMetadata',
        tags,
        summary: 'Fetch `N.root.json`, `N.snapshot.json` or `N.targets.json` of a view',
        ...machines,
        prove: proofs.requireTokenProof,
        headers: proofSchema,
        query: null,
        config: { quiet: true, yields: 'completes' },
        answers: { 200: metadataResponse },
        errors: [404],
      },
      async ({ headers, params, reply }) =>
        sendImmutable(reply, await views.metadata(headers.authorization, params, params.file)),
    ),
    defineRoute(
      {
        method: 'GET',
        path: `${VIEW}/targets/policies/:file`,
        operationId: 'getViewPolicy',
        tags,
        summary: 'Fetch a policy of a view by its SHA-256 and id',
        ...machines,
        prove: proofs.requireTokenProof,
        headers: proofSchema,
        query: null,
        config: { quiet: true, yields: 'completes' },
        answers: { 200: documentResponse },
        errors: [404],
      },
      async ({ headers, params, reply }) => {
        const path = `policies/${params.file}`
        return sendImmutable(reply, await views.document(headers.authorization, params, path))
      },
    ),
  ]
}

function readHeld({ view, root, targets }: z.infer<typeof updateQuerySchema>): Held {
  return {
    view: view ?? null,
    root: Number(root ?? 1),
    targets: targets === undefined ? null : Number(targets),
  }
}

function readAssignmentAsked(headers: AssignmentHeaders): AskedAssignment {
  const heldVersion = Number(headers[ASSIGNMENT_VERSION_HEADER] ?? 0)
  return { heldVersion, nonce: headers[NONCE_HEADER] ?? null }
}

/** In milliseconds; null where any timestamp does. */
function readIssuedAfter({ [RENEWAL_HEADER]: seconds }: UpdateHeaders): number | null {
  return seconds === undefined ? null : Number(seconds) * 1000
}

/**
 * Whether the caller has the version with a given tag. Throws ApiError 400 for a malformed header.
 */
function readCondition(request: FastifyRequest): (etag: string) => boolean {
  const header = request.headers['if-none-match']
  const known = readEntityTags('if-none-match', header)
  // Agents send a single tag; the list that the header may hold is for other clients.
  return (etag) => header === etag || isKnown(known, etag)
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
