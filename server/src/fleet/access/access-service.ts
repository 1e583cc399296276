import type {
  AccessRequest,
  AccessState,
  ApproveAccessRequest,
  CreateAccessRequest,
  ListAccessRequestsQuery,
  ListAccessRequestsResponse,
  PageQuery,
  ReviewedAccessRequest,
} from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import { formatAccessRequest } from '../../history/format-access-request.ts'
import type { Answer } from '../../http/answer.ts'
import { readPage } from '../../http/input/read-page.ts'
import { authorize, requireEntitled } from '../../identity/authorize.ts'
import { findLiveDevice } from '../../identity/device/authenticate-device.ts'
import type { OnceRequest } from '../../identity/idempotency/answer-once.ts'
import { createOnce } from '../../identity/idempotency/idempotent-post.ts'
import type { WriteLimits } from '../../identity/limits/write-limits.ts'
import type { Caller } from '../../identity/principal.ts'
import {
  invalidArgument,
  permissionDenied,
  unauthenticatedDevice,
} from '../../platform/api-error.ts'
import type { StoreReader } from '../../store/store.ts'
import { insertRequest } from './create-request.ts'
import {
  approveRequest,
  decideRequest,
  requireNarrower,
  requireState,
  type Decider,
} from './decide-request.ts'
import { findSeenRequest, mayAnswer, requireMayAnswer, requireWholeApprover } from './may-answer.ts'
import { requireGrantable } from './require-grantable.ts'
import { readUserRules, reviewAccess, type ReviewDeps } from './review-access.ts'

export interface AccessServiceDeps extends ReviewDeps {
  readonly store: AuditedStore
  readonly writeLimits: Pick<WriteLimits, 'countOwn' | 'countOwnOf'>
  readonly pageTokenKey: Uint8Array
  readonly random: (bytes: number) => Uint8Array
}

/** A request in its organization. */
export interface AccessPlace {
  readonly org: string
  readonly id: string
}

/** The machine that asks for its user. */
export interface AskingDevice {
  readonly org: string
  readonly username: string
  readonly device_id: string
  readonly author: Author
}

/** Requests for access, and their answers. Every method throws ApiError. */
export interface AccessService {
  /** Asks for the caller. */
  request(
    caller: Caller,
    org: string,
    body: CreateAccessRequest,
    once: OnceRequest,
  ): Promise<Answer>
  /** Asks for the user of a machine, on all of whose machines the grant will count. */
  requestFor(device: AskingDevice, body: CreateAccessRequest): Promise<AccessRequest>
  /** Requests that the caller may see, the newest first. */
  list(
    caller: Caller,
    org: string,
    query: ListAccessRequestsQuery,
  ): Promise<ListAccessRequestsResponse>
  /** All requests of the user of a machine. */
  listOf(
    device: Pick<AskingDevice, 'org' | 'username'>,
    query: PageQuery,
  ): Promise<ListAccessRequestsResponse>
  get(caller: Caller, place: AccessPlace): Promise<ReviewedAccessRequest>
  /** 400 for a grant that opens more than was asked for, or that denies close entirely. */
  approve(
    caller: Caller,
    place: AccessPlace,
    body: ApproveAccessRequest,
  ): Promise<ReviewedAccessRequest>
  reject(caller: Caller, place: AccessPlace, answer: string): Promise<AccessRequest>
  revoke(caller: Caller, place: AccessPlace, answer: string): Promise<AccessRequest>
  /** By the requester alone. */
  withdraw(caller: Caller, place: AccessPlace): Promise<AccessRequest>
}

export function createAccessService(deps: AccessServiceDeps): AccessService {
  return { ...createAsking(deps), ...createAnswering(deps) }
}

type Answering = Pick<AccessService, 'approve' | 'reject' | 'revoke'>

function createAsking(deps: AccessServiceDeps): Omit<AccessService, keyof Answering> {
  const { store, now } = deps

  async function pageOf(
    reader: StoreReader,
    {
      org,
      seenBy,
      ...filter
    }: { readonly org: string; readonly seenBy: string | null } & {
      readonly username: string | null
      readonly state: AccessState | null
    },
    query: PageQuery,
  ): Promise<ListAccessRequestsResponse> {
    const list = { of: 'access_requests', owner: org } as const
    const { rows, next_page_token } = await readPage(deps, list, query, {
      read: ({ after, limit }) =>
        reader.accessRequests.page(org, { before: after, limit, seenBy, ...filter }),
      placeOf: ({ id }) => id,
    })
    return { data: rows.map(formatAccessRequest), next_page_token }
  }

  return {
    async request(caller, org, body, once) {
      // First, because hostile patterns take tens of milliseconds.
      deps.writeLimits.countOwn(caller, body)
      requireGrantable(body)
      return store.write(caller.author, async (writer) => {
        const { organization } = await authorize(writer, caller, org, null)
        requireEntitled(organization)
        const username = requireUser(caller)
        return createOnce(writer, once, now(), () =>
          insertRequest(deps, writer, { org, username, device_id: null }, body),
        )
      })
    },

    async requestFor({ author, ...asker }, body) {
      deps.writeLimits.countOwnOf(asker, body)
      requireGrantable(body)
      return store.write(author, async (writer) => {
        // It may have been revoked, or its user removed, since it was admitted.
        const device = await writer.devices.find(asker.org, asker.device_id)
        await findLiveDevice(writer, device, () => unauthenticatedDevice('the device is revoked'))
        return insertRequest(deps, writer, asker, body)
      })
    },

    list: (caller, org, { state = null, username = null, ...query }) =>
      store.read(async (reader) => {
        const { permissions } = await authorize(reader, caller, org, null)
        const seesAll = permissions.includes('policies:read')
        const seenBy = seesAll ? null : requireUser(caller)
        return pageOf(reader, { org, seenBy, state, username }, query)
      }),

    listOf: ({ org, username }, query) =>
      store.read((reader) => pageOf(reader, { org, username, state: null, seenBy: null }, query)),

    async get(caller, { org, id }) {
      const { request, rules } = await store.read(async (reader) => {
        const access = await authorize(reader, caller, org, null)
        const asker = { principal: caller, access }
        const found = await findSeenRequest(reader, asker, id)
        const isAnswering = await mayAnswer(reader, asker, found)
        return {
          request: found,
          rules: isAnswering ? await readUserRules(reader, found) : undefined,
        }
      })
      const { resources } = request.grant ?? request
      const review =
        rules === undefined ? null : await reviewAccess(deps, { ...request, resources }, rules)
      return { ...formatAccessRequest(request), review }
    },

    withdraw: (caller, place) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, place.org, null)
        const request = await findSeenRequest(writer, { principal: caller, access }, place.id)
        if (caller.kind !== 'user' || caller.username !== request.username)
          throw permissionDenied('only the requester withdraws a request; reject it instead')
        const decision = {
          state: 'withdrawn',
          answer: null,
          ...byWhom(caller),
          now: now(),
        } as const
        return decideRequest(writer, request, 'pending', decision)
      }),
  }
}

function createAnswering(deps: AccessServiceDeps): Answering {
  const { store, now } = deps

  /** Loads the request for an answer; `author` of the answer is the caller. */
  async function enterToAnswer(reader: StoreReader, caller: Caller, { org, id }: AccessPlace) {
    const access = await authorize(reader, caller, org, null)
    requireEntitled(access.organization)
    const asker = { principal: caller, access }
    await requireWholeApprover(reader, asker)
    const request = await findSeenRequest(reader, asker, id)
    await requireMayAnswer(reader, asker, request)
    return request
  }

  function end(
    caller: Caller,
    place: AccessPlace,
    [from, state]: readonly [from: AccessState, to: AccessState],
    answer: string,
  ): Promise<AccessRequest> {
    return store.write(caller.author, async (writer) => {
      const request = await enterToAnswer(writer, caller, place)
      return decideRequest(writer, request, from, { state, answer, ...byWhom(caller), now: now() })
    })
  }

  return {
    async approve(caller, place, body) {
      const { request, rules } = await store.read(async (reader) => {
        const found = await enterToAnswer(reader, caller, place)
        return { request: found, rules: await readUserRules(reader, found) }
      })
      requireState(request, 'pending', now())
      const { resources = request.resources, duration_seconds = request.duration_seconds } = body
      const once = request.once || body.once === true
      const granted = { ...request, resources, once }
      requireGrantable(granted)
      requireNarrower(request, { resources, duration_seconds })
      const review = await reviewAccess(deps, granted, rules)
      if (review.resources.every(({ effect }) => effect === 'denied'))
        throw invalidArgument(
          'a deny in the policies of the user closes all of it, whatever is granted; ' +
            'change the policy, or reject the request',
          { field: 'resources', reason: 'denied' },
        )
      const approved = await store.write(caller.author, async (writer) => {
        const present = await enterToAnswer(writer, caller, place)
        const wanted = { resources, duration_seconds, once, answer: body.answer ?? null }
        return approveRequest(writer, present, { ...wanted, ...byWhom(caller), now: now() })
      })
      return { ...approved, review }
    },

    reject: (caller, place, answer) => end(caller, place, ['pending', 'rejected'], answer),
    revoke: (caller, place, answer) => end(caller, place, ['approved', 'revoked'], answer),
  }
}

const byWhom = ({ author }: Caller): Pick<Decider, 'decided_by'> => ({ decided_by: author.actor })

/** Requests are of people: a grant is for the machines of a user. */
export function requireUser(caller: Caller): string {
  if (caller.kind !== 'user')
    throw permissionDenied('an organization token is not a user; sign in as a user')
  return caller.username
}
