import {
  applyResponseSchema,
  exportResponseSchema,
  parseJson,
  replayLineSchema,
  type ApplyRequest,
  type ApplyResponse,
  type ExportResponse,
  type ReplayLine,
  type ReplayResult,
  type ReplaySpan,
} from '@palisade/protocol'
import { unexpected } from '../client-error.ts'
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
  /**
   * Decides recorded requests anew, as the policies in force and as the document would decide them.
   * Takes seconds to minutes.
   */
  replay(
    document: AppliedDocument,
    span: ReplaySpan,
    onProgress?: (progress: ReplayProgress) => void,
  ): Promise<ReplayResult>
}

export type ReplayProgress = Extract<ReplayLine, { readonly progress: unknown }>['progress']

/** 100 policies of the largest size; a dry run shows each before and after. */
const MAX_ANSWER_BYTES = 96 * 1024 * 1024
/** The server ends a replay earlier. */
const REPLAY_WITHIN_MS = 30 * 60_000

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
    async replay(document, span, onProgress) {
      const line = await call(
        {
          method: 'POST',
          path: `${root}/replay`,
          body: { ...document, ...span },
          maxAnswerBytes: MAX_ANSWER_BYTES,
          timeoutMs: REPLAY_WITHIN_MS,
          onLine(text) {
            const progress = readProgress(text)
            if (progress !== null) onProgress?.(progress)
          },
        },
        replayLineSchema,
      )
      if ('result' in line) return line.result
      throw unexpected('error' in line ? line.error.message : 'it ends without a result')
    },
  }
}

function readProgress(text: string): ReplayProgress | null {
  const json = parseJson(text)
  const line = replayLineSchema.safeParse(json.ok ? json.value : null)
  return line.success && 'progress' in line.data ? line.data.progress : null
}
