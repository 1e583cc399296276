import type { ProbeResult } from '@palisade/protocol'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { once } from 'node:events'
import { systemErrorCode } from '../../host/errors.ts'
import type { Canaries, Canary } from '../proxy/canaries.ts'
import { startCanaryServer, type CanaryServer } from '../proxy/canary-server.ts'
import type { PreparedLaunch } from '../../sandbox/launch/prepare-launch.ts'
import type { StagedStore } from '../../sandbox/staged/staged-store.ts'
import { startSandbox, type StartDeps, type StartedSandbox } from '../../sandbox/start-sandbox.ts'
import { findBreach, type Evidence } from './find-breach.ts'
import { probeView } from './probe-view.ts'
import { FACTS, formatInput, formatQuery, SCRIPT_COMMAND, type Fact } from './probe-script.ts'

/** A busy machine still makes a sandbox and runs the script within this time. */
const TIMEOUT_MS = 60_000
/**
 * An address of the range that stands for names (RFC 2544); tables of names begin at its other end.
 */
const SYNTHETIC = '198.19.255.253'
const VARIABLES = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }
const MAX_DETAIL = 300
/** Follows the command of a strict sandbox, which has no person who would review its changes. */
const KEEP_EXIT_CODE = ['/bin/sh', '-c', 'exit "$2"', 'sh']

export interface SandboxProbe {
  readonly canaries: Canaries
  /** A new secret of a-z and 0-9 for each call, at most 63 and not 10 long. */
  readonly token: () => string
}

export interface ProbeSandboxDeps extends SandboxProbe {
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** A directory below which the probe makes its own one. */
  readonly temporary: string
  /** Rejects where no sandbox can be made. */
  readonly takeLaunch: () => Promise<PreparedLaunch>
  readonly start: () => Promise<StartDeps>
  /** For a strict sandbox, a store of the probe's own; null for the default mode. */
  readonly strict: StagedStore | null
  /** For the whole probe. Default 60,000. */
  readonly timeoutMs?: number
}

/** The directory of a probe: a workspace, and a file beside it. */
interface Scene {
  readonly directory: string
  readonly workspace: string
  readonly granted: string
  readonly denied: string
  readonly outside: string
}

/**
 * Runs a script in a real sandbox, which tries the ways out, and compares its lines with the facts
 * that the agent saw. Connections are decided by the policy in force and by the canaries; files by
 * rules of the probe's own for a workspace of its own, because policy may open no directory at all.
 * All of it stays on the machine. Never rejects.
 */
export async function probeSandbox(deps: ProbeSandboxDeps): Promise<ProbeResult> {
  let problem: string | null
  try {
    problem = await tryOut(deps)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    problem = `no sandbox could be made: ${why}`.slice(0, MAX_DETAIL)
  }
  const subject = deps.strict === null ? 'a sandbox' : 'a strict sandbox'
  const at = new Date(deps.clock()).toISOString()
  return problem === null
    ? { at, ok: true, detail: `${subject} held when it was tried from inside` }
    : { at, ok: false, detail: problem }
}

async function tryOut(deps: ProbeSandboxDeps): Promise<string | null> {
  const { token } = deps
  const start = await deps.start()
  const texts = { allowed: token(), refused: token(), answer: token() }
  const secrets = { granted: token(), denied: token(), outside: token() }
  const scene = await makeScene(deps.temporary, secrets)
  let server: CanaryServer | null = null
  let canary: Canary | null = null
  try {
    server = await startCanaryServer(texts)
    canary = deps.canaries.open(token(), server.ports)
    const port = server.ports['connect:tcp']
    const input = formatInput({
      ...scene,
      allowed: canary.allowed,
      refused: canary.refused,
      port,
      allowedText: texts.allowed,
      refusedText: texts.refused,
      synthetic: SYNTHETIC,
      query: formatQuery(canary.refused),
    })
    const ran = await runInProbe(input, scene, port, { ...deps, start: async () => start })
    if (ran.kind === 'failed') return ran.problem
    return findBreach({
      facts: ran.facts,
      answer: texts.answer,
      granted: secrets.granted,
      secrets: [secrets.denied, secrets.outside],
      heardRefused: server.heardRefused(),
      resolvedRefused: canary.wasRefusedResolved(),
      ...(await findWritten(`${scene.granted}.written`, deps.strict)),
    })
  } finally {
    canary?.close()
    server?.close()
    await deps.strict?.discardAll()
    await rm(scene.directory, { recursive: true, force: true })
  }
}

/** A strict sandbox keeps the file that the script wrote in its store. */
async function findWritten(
  path: string,
  strict: StagedStore | null,
): Promise<Pick<Evidence, 'wasWritten' | 'hasLeft'>> {
  const isThere = existsSync(path)
  if (strict === null) return { wasWritten: isThere, hasLeft: false }
  const kept = await strict.list()
  return { wasWritten: kept.length === 1, hasLeft: isThere }
}

async function makeScene(
  temporary: string,
  secrets: Readonly<Record<'granted' | 'denied' | 'outside', string>>,
): Promise<Scene> {
  const directory = await realpath(await mkdtemp(join(temporary, 'palisade-probe-')))
  const workspace = join(directory, 'workspace')
  const scene = {
    directory,
    workspace,
    granted: join(workspace, 'granted'),
    denied: join(workspace, 'denied'),
    outside: join(directory, 'outside'),
  }
  await mkdir(workspace)
  for (const name of ['granted', 'denied', 'outside'] as const)
    await writeFile(scene[name], `${secrets[name]}\n`)
  return scene
}

type Ran =
  | { readonly kind: 'told'; readonly facts: ReadonlyMap<Fact, string> }
  | { readonly kind: 'failed'; readonly problem: string }

async function runInProbe(
  input: string,
  { workspace, denied }: Scene,
  port: number,
  deps: ProbeSandboxDeps,
): Promise<Ran> {
  const { canaries, strict, timeoutMs = TIMEOUT_MS } = deps
  const { view, network, ...start } = await deps.start()
  const { active } = network
  const launch = await deps.takeLaunch()
  const request = {
    workspaces: [{ path: workspace, access: 'rw' as const }],
    directory: workspace,
    variables: VARIABLES,
    ...(strict === null ? {} : { strict: { after: KEEP_EXIT_CODE } }),
  }
  let sandbox: StartedSandbox
  try {
    sandbox = await startSandbox(request, launch, {
      ...start,
      ...(strict === null ? {} : { staged: strict }),
      view: { ...view, ...probeView(workspace, denied) },
      network: {
        ...network,
        active: {
          enforced: active.enforced,
          subscribe: active.subscribe,
          // A name is answered that is allowed on some port, and the canary is on this one only.
          decisivePorts: (name) => [...active.decisivePorts(name), port],
        },
        openCanaries: canaries.decide,
        resolve: canaries.resolve(network.resolve),
        // Probes are neither counted nor recorded.
        onEvent: () => {},
      },
    })
  } catch (error) {
    await launch.discard()
    throw error
  }
  const timer = setTimeout(() => sandbox.supervision.end('the probe took too long'), timeoutMs)
  try {
    return await readFacts([sandbox.program, ...sandbox.arguments, ...SCRIPT_COMMAND], input)
  } catch (error) {
    sandbox.supervision.end('the probe could not run')
    throw error
  } finally {
    clearTimeout(timer)
    await sandbox.supervision.ended
    await strict?.running(launch.id)
  }
}

/**
 * The trampoline refuses descriptors beyond the standard ones. The agent may have inherited some
 * from its own parent, and its children get them.
 */
const CLOSE_OTHERS = String.raw`
for link in /proc/$$/fd/*; do
  number=${'${link##*/}'}
  [ "$number" -le 2 ] || eval "exec $number>&-"
done
exec "$@"`

async function readFacts(words: readonly string[], input: string): Promise<Ran> {
  const child = spawn('/bin/bash', ['-c', CLOSE_OTHERS, 'bash', ...words], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // It may end before it has read its input.
  child.stdin.on('error', () => {}).end(input)
  const closed = once(child, 'close').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') throw new Error('a probe needs `bash`; install it')
    throw error
  })
  const [told, complaint] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  if (child.exitCode !== 0) {
    const [line = ''] = complaint.trim().split('\n')
    const problem = line === '' ? `its command ended with ${child.exitCode}` : line
    return { kind: 'failed', problem: `the sandbox did not run: ${problem}`.slice(0, MAX_DETAIL) }
  }
  const facts = FACTS.flatMap((fact): [Fact, string][] => {
    const line = told.split('\n').find((each) => each.startsWith(`${fact} `))
    return line === undefined ? [] : [[fact, line.slice(fact.length + 1)]]
  })
  return { kind: 'told', facts: new Map(facts) }
}
