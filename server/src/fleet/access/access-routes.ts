import {
  accessRequestSchema,
  approveAccessRequestSchema,
  createAccessRequestSchema,
  endAccessRequestSchema,
  listAccessRequestsQuerySchema,
  listAccessRequestsResponseSchema,
  reviewedAccessRequestSchema,
} from '@palisade/protocol'
import { requireEntitled, requirePerson } from '../../identity/authorize.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { StoreReader } from '../../store/store.ts'
import type { AccessService } from './access-service.ts'
import {
  findSeenRequest,
  requireMayAnswer,
  requireWholeApprover,
  type Asker,
} from './may-answer.ts'

const REQUESTS = '/api/v1/orgs/:org/access-requests'
const REQUEST = `${REQUESTS}/:request` as const
const tags = ['access']
/** Members ask for themselves; see `mayAnswer` for the callers who answer. */
const permission = null

interface Params {
  readonly org: string
  readonly request: string
}

/** `/api/v1/orgs/:org/access-requests` */
export function accessRoutes(service: AccessService): Route[] {
  return [...requestRoutes(service), ...answerRoutes(service)]
}

function requestRoutes(service: AccessService): Route[] {
  return [
    defineRoute(
      {
        method: 'GET',
        path: REQUESTS,
        operationId: 'listAccessRequests',
        tags,
        summary: 'List access requests, newest first: your own, or all that you may see',
        permission,
        lookUp: requireUserOrReader,
        query: listAccessRequestsQuerySchema,
        answers: { 200: listAccessRequestsResponseSchema },
        errors: [403],
      },
      async ({ caller, params, query }) => service.list(caller, params.org, query),
    ),
    defineRoute(
      {
        method: 'POST',
        path: REQUESTS,
        operationId: 'createAccessRequest',
        tags,
        summary: 'Ask for access for yourself, for limited time',
        permission,
        lookUp(_reader, _params, { principal, access }) {
          requirePerson(principal)
          requireEntitled(access.organization)
        },
        body: createAccessRequestSchema,
        once: 'kept',
        answers: { 201: accessRequestSchema },
        errors: [403, 429],
      },
      async ({ caller, params, body, once, send }) =>
        send(await service.request(caller, params.org, body, once())),
    ),
    defineRoute(
      {
        method: 'GET',
        path: REQUEST,
        operationId: 'getAccessRequest',
        tags,
        summary: 'Get an access request; for approvers, with what it opens',
        permission,
        lookUp: lookUpSeen,
        answers: { 200: reviewedAccessRequestSchema },
        errors: [429],
      },
      async ({ caller, params }) => service.get(caller, keyOf(params)),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${REQUEST}/withdraw`,
        operationId: 'withdrawAccessRequest',
        tags,
        summary: 'Withdraw your own request before its answer',
        permission,
        lookUp: lookUpSeen,
        config: { ends: true },
        answers: { 200: accessRequestSchema },
        errors: [403, 409],
      },
      async ({ caller, params }) => service.withdraw(caller, keyOf(params)),
    ),
  ]
}

function answerRoutes(service: AccessService): Route[] {
  return [
    defineRoute(
      {
        method: 'POST',
        path: `${REQUEST}/approve`,
        operationId: 'approveAccessRequest',
        tags,
        summary: 'Approve a request as it is, or a narrower or shorter grant',
        permission,
        lookUp: lookUpAnswered,
        body: approveAccessRequestSchema,
        answers: { 200: reviewedAccessRequestSchema },
        errors: [403, 409, 429],
      },
      async ({ caller, params, body }) => service.approve(caller, keyOf(params), body),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${REQUEST}/reject`,
        operationId: 'rejectAccessRequest',
        tags,
        summary: 'Reject a request; the reason reaches the requester',
        permission,
        lookUp: lookUpAnswered,
        body: endAccessRequestSchema,
        config: { ends: true },
        answers: { 200: accessRequestSchema },
        errors: [403, 409],
      },
      async ({ caller, params, body }) => service.reject(caller, keyOf(params), body.answer),
    ),
    defineRoute(
      {
        method: 'POST',
        path: `${REQUEST}/revoke`,
        operationId: 'revokeAccessRequest',
        tags,
        summary: 'Revoke a grant before its end',
        permission,
        lookUp: lookUpAnswered,
        body: endAccessRequestSchema,
        config: { ends: true },
        answers: { 200: accessRequestSchema },
        errors: [403, 409],
      },
      async ({ caller, params, body }) => service.revoke(caller, keyOf(params), body.answer),
    ),
  ]
}

const keyOf = ({ org, request }: Params) => ({ org, id: request })

async function lookUpSeen(reader: StoreReader, { request }: Params, asker: Asker): Promise<void> {
  await findSeenRequest(reader, asker, request)
}

async function lookUpAnswered(
  reader: StoreReader,
  { request }: Params,
  asker: Asker,
): Promise<void> {
  requireEntitled(asker.access.organization)
  await requireWholeApprover(reader, asker)
  await requireMayAnswer(reader, asker, await findSeenRequest(reader, asker, request))
}

function requireUserOrReader(_reader: StoreReader, _params: unknown, asker: Asker): void {
  if (!asker.access.permissions.includes('policies:read')) requirePerson(asker.principal)
}
