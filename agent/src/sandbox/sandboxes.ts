import { sandboxRequestSchema, type SandboxRequest, type SandboxResult } from '@palisade/protocol'
import { systemErrorCode } from '../host/errors.ts'
import { HolderError } from './holder/start-holder.ts'
import type { PreparedLaunch } from './launch/prepare-launch.ts'
import type { StartedSandbox } from './start-sandbox.ts'
import { ViewRefusal } from './view/view-refusal.ts'

/** Sandboxes at once. Each has a network of its own and watches of the file system. */
const MAX_SANDBOXES = 100
const STOPPING = 'the agent stops'

/** The sandboxes of this agent. */
export interface Sandboxes {
  /** `request` is a `SandboxRequest` as received. Rejects for no request. */
  readonly startSandbox: (request: unknown) => Promise<SandboxResult>
  /** The sandboxes that run or start. */
  all(): Iterable<StartedSandbox>
  /** Ends all sandboxes, and starts no more. */
  stop(): Promise<void>
}

export interface SandboxesDeps {
  /** Rejects with `HolderError` where no sandbox can be made. */
  readonly takeLaunch: () => Promise<PreparedLaunch>
  /** Rejects with `ViewRefusal` for a view that policy does not open. */
  readonly start: (request: SandboxRequest, launch: PreparedLaunch) => Promise<StartedSandbox>
  readonly onError: (error: unknown) => void
}

export function createSandboxes({ takeLaunch, start, onError }: SandboxesDeps): Sandboxes {
  const open = new Set<StartedSandbox>()
  let starting = 0
  let isStopped = false

  const launchOne = async (request: SandboxRequest): Promise<SandboxResult> => {
    const launch = await takeLaunch()
    let started: StartedSandbox
    try {
      started = await start(request, launch)
    } catch (error) {
      await launch.discard().catch(onError)
      throw error
    }
    const { program, arguments: words, supervision, warnings } = started
    open.add(started)
    void supervision.ended.then(() => open.delete(started))
    if (isStopped) supervision.end(STOPPING)
    const ready = { id: launch.id, program, arguments: [...words], warnings: [...warnings] }
    return { outcome: 'ready', launch: ready, error: null }
  }

  return {
    async startSandbox(request) {
      const parsed = sandboxRequestSchema.safeParse(request)
      if (!parsed.success) return failed('invalid_request', describeIssue(parsed.error.issues))
      if (isStopped) return failed('unavailable', STOPPING)
      if (open.size + starting >= MAX_SANDBOXES)
        return failed('limit_exceeded', `at most ${MAX_SANDBOXES} sandboxes run at once; end one`)
      starting += 1
      try {
        return await launchOne(parsed.data)
      } catch (error) {
        if (error instanceof ViewRefusal) return failed('workspace_denied', error.message)
        if (error instanceof HolderError) return failed('unavailable', error.message)
        onError(error)
        return failed('unavailable', describeFault(error))
      } finally {
        starting -= 1
      }
    },
    all: () => open,
    async stop() {
      isStopped = true
      for (const { supervision } of open) supervision.end(STOPPING)
      await Promise.all([...open].map(({ supervision }) => supervision.ended))
    },
  }
}

/**
 * The answer of an agent that serves all users: a sandbox is made of files and processes of the
 * caller, which such an agent must not touch in the caller's place.
 */
export async function refuseSandboxes(): Promise<SandboxResult> {
  return failed(
    'unavailable',
    'this agent serves all users and makes no sandboxes; start one of your own with ' +
      '`palisade-agent install --user`',
  )
}

/** The log cannot say it where no space is left for the log. */
const SHORTAGES: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'no space is left for its files (ENOSPC); free some space for the agent'],
  ['EDQUOT', 'the quota leaves no space for its files (EDQUOT); free some space for the agent'],
  ['EMFILE', 'too many files are open in the agent (EMFILE); end other sandboxes'],
  ['ENFILE', 'too many files are open on this machine (ENFILE); end other programs'],
])

function describeFault(error: unknown): string {
  const shortage = SHORTAGES.get(systemErrorCode(error) ?? '')
  return `no sandbox could be made; ${shortage ?? 'the log of the agent says why'}`
}

function failed(code: string, message: string): SandboxResult {
  return { outcome: 'failed', launch: null, error: { code, message } }
}

function describeIssue(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  const [issue] = issues
  const at = issue?.path.map(String).join('.') ?? ''
  return `${at === '' ? '' : `\`${at}\` `}${issue?.message ?? 'the request is not valid'}`
}
