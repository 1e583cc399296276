import type {
  AccessRequest,
  AccessState,
  ApproveAccessRequest,
  ReviewedAccessRequest,
} from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { authorize, requireEntitled } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Caller } from '../../identity/principal.ts'
import { invalidArgument } from '../../platform/api-error.ts'
import type { StoreReader } from '../../store/store.ts'
import { approveRequest, byWhom, decideRequest, requireState } from './decide-request.ts'
import { findSeenRequest, requireMayAnswer, requireWholeApprover } from './may-answer.ts'
import type { MakeReview } from './review-access.ts'

/** A request in its organization. */
export interface AccessRequestKey {
  readonly org: string
  readonly id: string
}

/** What those who answer need. Every method throws ApiError. */
export interface AccessAnswers {
  /** 400 for a grant that opens more than was asked for, or that denies close entirely. */
  approve(
    caller: Caller,
    key: AccessRequestKey,
    body: ApproveAccessRequest,
  ): Promise<ReviewedAccessRequest>
  reject(caller: Caller, key: AccessRequestKey, answer: string): Promise<AccessRequest>
  revoke(caller: Caller, key: AccessRequestKey, answer: string): Promise<AccessRequest>
}

export interface AccessAnswersDeps {
  readonly store: AuditedStore
  readonly now: () => Date
}

export function createAccessAnswers(
  deps: AccessAnswersDeps,
  makeReview: MakeReview,
): AccessAnswers {
  const { store, now } = deps

  /** Loads the request for an answer; `author` of the answer is the caller, who pays. */
  async function enterToAnswer(reader: StoreReader, caller: Caller, { org, id }: AccessRequestKey) {
    const access = await authorize(reader, caller, org, null)
    requireEntitled(access.organization)
    const asker = { principal: caller, access }
    await requireWholeApprover(reader, asker)
    const request = await findSeenRequest(reader, asker, id)
    await requireMayAnswer(reader, asker, request)
    return { request, payer: payerOf(caller, access) }
  }

  function end(
    caller: Caller,
    key: AccessRequestKey,
    [from, state]: readonly [from: AccessState, to: AccessState],
    answer: string,
  ): Promise<AccessRequest> {
    return store.write(caller.author, async (writer) => {
      const { request } = await enterToAnswer(writer, caller, key)
      return decideRequest(writer, request, from, { state, answer, ...byWhom(caller), now: now() })
    })
  }

  return {
    async approve(caller, key, body) {
      const { request, payer } = await store.read((reader) => enterToAnswer(reader, caller, key))
      requireState(request, 'pending', now())
      const { resources = request.resources, duration_seconds = request.duration_seconds } = body
      const once = request.once || body.once === true
      const granted = { ...request, resources, once }
      const review = await makeReview(payer, granted, { request, duration_seconds, once })
      if (review.resources.every(({ effect }) => effect === 'denied'))
        throw invalidArgument(
          'a deny in the policies of the user closes all of it, whatever is granted; ' +
            'change the policy, or reject the request',
          { field: 'resources', reason: 'denied' },
        )
      const approved = await store.write(caller.author, async (writer) => {
        const { request: present } = await enterToAnswer(writer, caller, key)
        const wanted = { resources, duration_seconds, once, answer: body.answer ?? null }
        return approveRequest(writer, present, { ...wanted, ...byWhom(caller), now: now() })
      })
      return { ...approved, review }
    },

    reject: (caller, key, answer) => end(caller, key, ['pending', 'rejected'], answer),
    revoke: (caller, key, answer) => end(caller, key, ['approved', 'revoked'], answer),
  }
}
