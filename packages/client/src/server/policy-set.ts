import {
  applyResponseSchema,
  exportResponseSchema,
  type ApplyRequest,
  type ApplyResponse,
  type ExportResponse,
} from '@palisade/protocol'
import type { Call } from './call.ts'

/** The content of a document, without options of the request. */
export type AppliedDocument = Pick<ApplyRequest, 'policies' | 'prune'>

/** All policies of one organization at once, by name. Every method throws `ClientError`. */
export interface PolicySetClient {
  /** The current policies of the organization, in a form that can be applied again. */
  export(): Promise<ExportResponse>
  /** The changes that `apply` would make. Rejects with 412 unless `revision` is current. */
  plan(document: AppliedDocument, revision?: number): Promise<ApplyResponse>
  /**
   * Applies all of these policies, or makes no change. Rejects with status 412 unless `revision` is
   * current. The request is never repeated: after a lost answer, call `plan` to see the outcome.
   */
  apply(document: AppliedDocument, revision?: number): Promise<ApplyResponse>
}

/** 100 policies of the largest size; a dry run shows each before and after. */
const MAX_ANSWER_BYTES = 96 * 1024 * 1024

export function createPolicySetClient(call: Call, root: string): PolicySetClient {
  const post = async (document: AppliedDocument, revision: number | undefined, dry_run: boolean) =>
    call(
      {
        method: 'POST',
        path: `${root}/apply`,
        body: { ...document, dry_run },
        ...(revision === undefined ? {} : { headers: { 'if-match': `"${revision}"` } }),
        maxAnswerBytes: MAX_ANSWER_BYTES,
      },
      applyResponseSchema,
    )
  return {
    export: async () =>
      call(
        { method: 'GET', path: `${root}/export`, maxAnswerBytes: MAX_ANSWER_BYTES },
        exportResponseSchema,
      ),
    plan: async (document, revision) => post(document, revision, true),
    apply: async (document, revision) => post(document, revision, false),
  }
}
