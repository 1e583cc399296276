import type {
  AccessRequest,
  AccessState,
  CreateAccessRequest,
  ListAccessRequestsQuery,
  ListAccessRequestsResponse,
  PageQuery,
  ReviewedAccessRequest,
} from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import type { Author } from '../../history/author.ts'
import { formatAccessRequest } from '../../store/aggregates/policies/format-access-request.ts'
import type { Answer } from '../../http/answer.ts'
import { readPage } from '../../http/input/read-page.ts'
import { authorize, requireEntitled, requirePerson } from '../../identity/authorize.ts'
import { findLiveDevice } from '../../identity/device/authenticate-device.ts'
import type { OnceRequest } from '../../identity/idempotency/answer-once.ts'
import { createOnce } from '../../identity/idempotency/idempotent-post.ts'
import type { WriteLimits } from '../../identity/limits/write-limits.ts'
import { payerOf } from '../../identity/payer.ts'
import { formatPrincipal, type Caller } from '../../identity/principal.ts'
import { createAnswerTurns } from '../../work/answer-turns.ts'
import { permissionDenied, unauthenticatedDevice } from '../../platform/api-error.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { StoreReader } from '../../store/store.ts'
import type { AccessRequestKey } from './access-answers.ts'
import { insertRequest } from './create-request.ts'
import { byWhom, decideRequest } from './decide-request.ts'
import { findSeenRequest, mayAnswer } from './may-answer.ts'
import { requireGrantable } from './require-grantable.ts'
import type { MakeReview } from './review-access.ts'

/** Requests that wait to be evaluated, of one organization and of all. */
const WAITING = { each: 32, all: 256 } as const

/** The machine that asks for its user. */
export interface AskingDevice {
  readonly org: string
  readonly username: string
  readonly device_id: string
  readonly author: Author
}

/** What those who ask, and all who look, need. Every method throws ApiError. */
export interface AccessQuestions {
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
  /** 429 while reviews wait, or the work budget is used up. */
  get(caller: Caller, key: AccessRequestKey): Promise<ReviewedAccessRequest>
  /** Withdraws a request; only its requester may. */
  withdraw(caller: Caller, key: AccessRequestKey): Promise<AccessRequest>
}

export interface AccessQuestionsDeps {
  readonly store: AuditedStore
  readonly writeLimits: Pick<WriteLimits, 'countOwn' | 'countOwnOf'>
  readonly now: () => Date
  readonly pageTokenKey: Uint8Array
  readonly random: (bytes: number) => Uint8Array
}

export function createAccessQuestions(
  deps: AccessQuestionsDeps,
  makeReview: MakeReview,
): AccessQuestions {
  const { store, now } = deps
  const turns = createAnswerTurns(WAITING.each, 1, WAITING.all)

  /** Before the write, and between the turns of others: hostile patterns take some milliseconds. */
  const requireGrantableInTurn = (
    org: string,
    asker: string,
    body: CreateAccessRequest,
  ): Promise<void> =>
    turns.run(
      org,
      async () => {
        await nextTurn()
        requireGrantable(body)
      },
      asker,
    )

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
      positionOf: ({ id }) => id,
    })
    return { data: rows.map(formatAccessRequest), next_page_token }
  }

  return {
    async request(caller, org, body, once) {
      deps.writeLimits.countOwn(caller, body)
      await requireGrantableInTurn(org, formatPrincipal(caller), body)
      return store.write(caller.author, async (writer) => {
        const { organization } = await authorize(writer, caller, org, null)
        requireEntitled(organization)
        // A grant is for the machines of a user.
        const { username } = requirePerson(caller)
        return createOnce(writer, once, now(), () =>
          insertRequest(deps, writer, { org, username, device_id: null }, body),
        )
      })
    },

    async requestFor({ author, ...asker }, body) {
      deps.writeLimits.countOwnOf(asker, body)
      await requireGrantableInTurn(asker.org, asker.username, body)
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
        const seenBy = seesAll ? null : requirePerson(caller).username
        return pageOf(reader, { org, seenBy, state, username }, query)
      }),

    listOf: ({ org, username }, query) =>
      store.read((reader) => pageOf(reader, { org, username, state: null, seenBy: null }, query)),

    async get(caller, { org, id }) {
      const { request, payer } = await store.read(async (reader) => {
        const access = await authorize(reader, caller, org, null)
        const asker = { principal: caller, access }
        const found = await findSeenRequest(reader, asker, id)
        const isAnswering = await mayAnswer(reader, asker, found)
        return { request: found, payer: isAnswering ? payerOf(caller, access) : null }
      })
      const { resources } = request.grant ?? request
      const review = payer === null ? null : await makeReview(payer, { ...request, resources })
      return { ...formatAccessRequest(request), review }
    },

    withdraw: (caller, key) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, key.org, null)
        const request = await findSeenRequest(writer, { principal: caller, access }, key.id)
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
