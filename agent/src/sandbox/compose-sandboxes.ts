import { pathDenies } from '@palisade/policy-core'
import type { LimitMechanisms, ProbeResult, SandboxResult } from '@palisade/protocol'
import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { arch, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { AgentLog } from '../agent-log.ts'
import type { ActivePolicy } from '../decision/active-policy.ts'
import { findPrograms } from './find-programs.ts'
import { followPolicy } from './follow-policy.ts'
import { holderFile } from './holder/holder-file.ts'
import { HolderError, startHolder } from './holder/start-holder.ts'
import { createCgroupDisk, findCgroupBases, type CgroupBases } from './limits/cgroup-bases.ts'
import { limitMechanisms } from './limits/hold-limits.ts'
import { recoverCgroups } from './limits/sandbox-cgroups.ts'
import { prepareLaunch, type PreparedLaunch } from './launch/prepare-launch.ts'
import { createSpareLaunch } from './launch/spare-launch.ts'
import { loadDestinations } from './network/original-destination.ts'
import { udpPortsOf } from './network/udp-ports.ts'
import { probeSandbox, type SandboxProbe } from './probe/probe-sandbox.ts'
import { createSandboxes, type Sandboxes } from './sandboxes.ts'
import type { Architecture } from './seccomp/system-calls.ts'
import { createStagedChanges, type StagedChanges } from './staged/staged-changes.ts'
import { createStagedStore } from './staged/staged-store.ts'
import { SANDBOX_HOSTNAME, startSandbox, type StartDeps } from './start-sandbox.ts'
import { findClientProgram } from './view/client-program.ts'
import { createViewDisk } from './view/disk.ts'
import { createPlaceholderJournal } from './view/placeholder-journal.ts'
import { createPlaceholders } from './view/placeholders.ts'
import { createDeniesReader } from './view/view-plan.ts'
import { prepareViewObjects } from './view/view-objects.ts'

const ARCHITECTURES: Readonly<Record<string, Architecture>> = { x64: 'x86_64', arm64: 'aarch64' }
const ID_BYTES = 6
const GRACE_MS = 10_000
const PREPARE_AFTER_MS = 500

export interface SandboxSurroundings {
  /** The directory of the agent. */
  readonly agentDir: string
  readonly socketPath: string
  readonly active: ActivePolicy
  readonly network: Omit<StartDeps['network'], 'findDestination'>
  readonly serveApi: StartDeps['serveApi']
  /** Monotonic, and wall time, in milliseconds. */
  readonly uptime: () => number
  readonly clock: () => number
  /** Milliseconds until a sandbox ends whose workspace is no longer granted. Default 10,000. */
  readonly graceMs?: number
  readonly log: AgentLog
  readonly onError: (error: unknown) => void
}

/** The sandboxes of the agent, and their work at its start. */
export interface SandboxParts extends Sandboxes {
  /** The changes of strict sandboxes. */
  readonly staged: StagedChanges
  /** Removes the files of a killed agent. Call it once, before the first sandbox. */
  recover(): Promise<void>
  /** How this machine bounds sandboxes. */
  readonly limits: () => LimitMechanisms
  /** Tries a sandbox from inside. Never rejects. */
  probe(from: SandboxProbe): Promise<ProbeResult>
}

/** The preparation takes the time of a processor, which the sandbox that starts needs. */
function prepareLater(prepare: () => void): void {
  setTimeout(prepare, PREPARE_AFTER_MS).unref()
}

/**
 * The answer of an agent that serves all users: a sandbox is made of files and processes of the
 * caller, which such an agent must not touch in the caller's place.
 */
export async function refuseSandboxes(): Promise<SandboxResult> {
  const message =
    'this agent serves all users and makes no sandboxes; start one of your own with ' +
    '`palisade-agent install --user`'
  return { outcome: 'failed', launch: null, error: { code: 'unavailable', message } }
}

/** Loads and prepares the parts of sandboxes when the first one is asked for. */
export function composeSandboxes(from: SandboxSurroundings): SandboxParts {
  const { active, agentDir, log, onError, uptime } = from
  const directory = join(agentDir, 'sandboxes')
  const random = (bytes: number): string => randomBytes(bytes).toString('hex')
  const placeholders = createPlaceholders({
    journal: createPlaceholderJournal(join(agentDir, 'placeholders.jsonl')),
    randomName: () => random(16),
  })
  let foundBases: CgroupBases | null = null
  const bases = (): CgroupBases =>
    (foundBases ??= findCgroupBases({
      disk: createCgroupDisk(),
      pid: process.pid,
      uid: userInfo().uid,
      probe: `palisade-${random(ID_BYTES)}`,
    }))
  const deniesOf = createDeniesReader(pathDenies)
  const disk = createViewDisk()
  const store = createStagedStore({
    root: join(agentDir, 'staged'),
    disk,
    randomName: () => random(16),
    now: from.clock,
    onError,
  })
  const { uid: ownUid } = userInfo()
  const staged = createStagedChanges({ ...from, store, deniesOf, disk, uid: ownUid })
  let prepared: Promise<StartDeps> | null = null

  const prepare = async (): Promise<StartDeps> => {
    const architecture = ARCHITECTURES[arch()]
    if (architecture === undefined)
      throw new HolderError(`sandboxes run on x86-64 and ARM64 only, and this is ${arch()}`)
    const programs = findPrograms()
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const destinations = await loadDestinations()
    if (!destinations.ok) throw new HolderError(destinations.problem)
    const { username, uid, gid, homedir, shell } = userInfo()
    const user = { name: username, uid, gid, home: homedir, shell: shell ?? '/bin/sh' }
    const objects = await prepareViewObjects(join(agentDir, 'view'), {
      user,
      hostname: SANDBOX_HOSTNAME,
      client: findClientProgram(),
    })
    const privatePaths = [agentDir, from.socketPath]
    const view = { active, disk, objects, placeholders, deniesOf, privatePaths, uptime }
    return {
      view: { ...view, now: from.clock },
      network: { ...from.network, findDestination: destinations.find },
      serveApi: from.serveApi,
      user,
      architecture,
      programs,
      bases: bases(),
      staged: store,
      log,
    }
  }
  /** A failure is tried again: the person may have installed a missing program. */
  const prepareOnce = (): Promise<StartDeps> => {
    prepared ??= prepare().catch((error: unknown) => {
      prepared = null
      throw error
    })
    return prepared
  }

  const prepareWith = (udpPorts: readonly number[]): Promise<PreparedLaunch> =>
    prepareLaunch({
      directory,
      createId: () => random(ID_BYTES),
      startHolder: () => startHolder(holderFile(), udpPorts),
    })
  const spare = createSpareLaunch(() => prepareWith(udpPortsOf(active.enforced())), prepareLater)
  /** A spare one may carry datagrams to other ports than the policy names now. */
  const takeLaunch = async (): Promise<PreparedLaunch> => {
    await prepareOnce()
    const launch = await spare.take()
    if (String(launch.holder.udpPorts) === String(udpPortsOf(active.enforced()))) return launch
    await launch.discard()
    return spare.take()
  }

  const sandboxes = createSandboxes({
    takeLaunch,
    start: async (request, launch) => startSandbox(request, launch, await prepareOnce()),
    onError,
  })
  const stopFollowing = followPolicy({
    active,
    sandboxes,
    deniesOf,
    graceMs: from.graceMs ?? GRACE_MS,
    log,
    onError,
  })

  return {
    ...sandboxes,
    limits: () => limitMechanisms(bases(), userInfo().uid),
    staged,
    async recover() {
      await store.recover()
      await placeholders.recover()
      await recoverCgroups(directory)
      await rm(directory, { recursive: true, force: true })
    },
    probe: (probe) =>
      probeSandbox({
        ...probe,
        clock: from.clock,
        temporary: tmpdir(),
        start: prepareOnce,
        // Not the spare one, which a person may ask for meanwhile.
        takeLaunch: () => prepareWith([]),
      }),
    async stop() {
      stopFollowing()
      await sandboxes.stop()
      await spare.stop()
    },
  }
}
