import {
  LOCAL_API,
  MAX_BUNDLE_BYTES,
  MAX_GRANT_BYTES,
  type AgentStatus,
  type BreakGlassResult,
  type LimitMechanisms,
  type LocalRulesResult,
  type LogVerification,
  type SandboxResult,
  type StagedList,
  type StagedResult,
  type SyncResult,
} from '@palisade/protocol'
import type { IncomingMessage } from 'node:http'
import { connectionOf } from '../http/paced-connection.ts'
import type { AdmitCaller } from './peers.ts'
import { createQuestionRoutes, QUESTION_LIMITS, type QuestionDeps } from './question-routes.ts'
import { readRequestBytes, readRequestChunks } from './read-request.ts'
import {
  accept,
  get,
  getAsOwner,
  post,
  postAsOwner,
  sendAnswer,
  sendResult,
  type Route,
} from './route.ts'

export interface RouteDeps extends QuestionDeps {
  /** Absent where the mode of the socket admits its owner only. */
  readonly admit?: AdmitCaller | undefined
  readonly addDeny: (request: unknown) => Promise<LocalRulesResult>
  readonly removeDenies: (request: unknown) => Promise<LocalRulesResult>
  readonly sync: () => Promise<SyncResult>
  /** The chunks of a bundle file, at most `MAX_BUNDLE_BYTES` long. */
  readonly import: (body: readonly Uint8Array[]) => Promise<SyncResult>
  /** A grant file, at most `MAX_GRANT_BYTES` long. */
  readonly beginBreakGlass: (body: Uint8Array) => Promise<BreakGlassResult>
  readonly endBreakGlass: () => Promise<BreakGlassResult>
  readonly startSandbox: (request: unknown) => Promise<SandboxResult>
  readonly sandboxLimits: () => LimitMechanisms
  readonly staged: {
    readonly list: () => Promise<StagedList>
    readonly show: (request: unknown) => Promise<StagedResult>
    readonly apply: (request: unknown) => Promise<StagedResult>
    readonly discard: (request: unknown) => Promise<StagedResult>
  }
  readonly verifyLog: () => Promise<LogVerification>
}

/** Limit of callers that wait for a fetch attempt, which all of them share. */
const MAX_SYNCS = 64
/** Each may hold `MAX_BUNDLE_BYTES`. */
const MAX_IMPORTS = 2
const MAX_GRANTS = 8
/** Each change is written to disk in its turn. */
const MAX_CHANGES = 8
/** Each may walk a large workspace. */
const MAX_SANDBOX_STARTS = 8
/** Each may walk the changes of a sandbox. */
const MAX_REVIEWS = 8

export function createRoutes(deps: RouteDeps): ReadonlyMap<string, Route> {
  const grant = sendResult(async (from) =>
    deps.beginBreakGlass(accept(await readRequestBytes(from, MAX_GRANT_BYTES))),
  )
  const bundle = sendResult(async (from) =>
    deps.import(accept(await readRequestChunks(from, MAX_BUNDLE_BYTES))),
  )
  const limits = sendResult(async () => deps.sandboxLimits())
  return new Map<string, Route>([
    ...createQuestionRoutes(deps, QUESTION_LIMITS),
    [LOCAL_API.status, get(sendResult(createShowStatus(deps)), 0)],
    [LOCAL_API.addLocalDeny, postAsOwner(sendAnswer(deps.addDeny), MAX_CHANGES)],
    [LOCAL_API.removeLocalDenies, postAsOwner(sendAnswer(deps.removeDenies), MAX_CHANGES)],
    [LOCAL_API.sandboxLimits, get(limits, 0)],
    [LOCAL_API.sandboxes, post(sendAnswer(deps.startSandbox), MAX_SANDBOX_STARTS)],
    [LOCAL_API.staged, getAsOwner(sendResult(deps.staged.list), MAX_REVIEWS)],
    [LOCAL_API.showStaged, postAsOwner(sendAnswer(deps.staged.show), MAX_REVIEWS)],
    [LOCAL_API.applyStaged, postAsOwner(sendAnswer(deps.staged.apply), MAX_REVIEWS)],
    [LOCAL_API.discardStaged, postAsOwner(sendAnswer(deps.staged.discard), MAX_REVIEWS)],
    [LOCAL_API.sync, postAsOwner(sendResult(deps.sync), MAX_SYNCS)],
    [LOCAL_API.import, postAsOwner(bundle, MAX_IMPORTS)],
    [LOCAL_API.breakGlass, postAsOwner(grant, MAX_GRANTS)],
    [LOCAL_API.endBreakGlass, postAsOwner(sendResult(deps.endBreakGlass), MAX_GRANTS)],
    [LOCAL_API.logVerification, getAsOwner(sendResult(deps.verifyLog), 1)],
  ])
}

/** Other users must not learn how much the records of this machine grow. */
function createShowStatus({ status, admit }: Pick<RouteDeps, 'status' | 'admit'>) {
  return async (request: IncomingMessage): Promise<AgentStatus> => {
    const { client } = connectionOf(request)
    const { upload, ...open } = status()
    const isOwner = admit === undefined || admit({ callers: 'owner' }, client) === null
    return isOwner && upload !== undefined ? { ...open, upload } : open
  }
}
