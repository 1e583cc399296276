import { pathDenies } from '@palisade/policy-core'
import type { LimitMechanisms, ProbeResult, SandboxResult } from '@palisade/protocol'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { followPolicy } from './follow-policy.ts'
import { holderFile } from './holder/holder-file.ts'
import { startHolder } from './holder/start-holder.ts'
import { createCgroupDisk, findCgroupBases, type CgroupBases } from './limits/cgroup-bases.ts'
import { limitMechanisms } from './limits/hold-limits.ts'
import { recoverCgroups } from './limits/sandbox-cgroups.ts'
import { prepareLaunch, type PreparedLaunch } from './launch/prepare-launch.ts'
import { createSpareLaunch } from './launch/spare-launch.ts'
import { udpPortsOf } from './network/udp-ports.ts'
import { probeSandbox, type SandboxProbe } from './probe/probe-sandbox.ts'
import { createSandboxes, type Sandboxes } from './sandboxes.ts'
import { createStagedChanges, type StagedChanges } from './staged/staged-changes.ts'
import { createStagedStore, type StagedStore } from './staged/staged-store.ts'
import { startSandbox } from './start-sandbox.ts'
import { createViewDisk } from './view/disk.ts'
import { createPlaceholderJournal } from './view/placeholder-journal.ts'
import { createPlaceholders } from './view/placeholders.ts'
import { createDeniesReader } from './view/view-plan.ts'
import { createPreparation } from './prepare-start.ts'
import type { SandboxSurroundings } from './sandbox-surroundings.ts'

const ID_BYTES = 6
const GRACE_MS = 10_000
/** The preparation takes the time of a processor, which the sandbox that starts needs. */
const PREPARE_AFTER_MS = 500
/**
 * No workspace contains it, but one may contain TMPDIR: a program in a sandbox could put links in
 * place of the files of a probe, and the agent would write to their targets and remove them.
 */
const PROBE_PARENT = '/tmp'

/** The sandboxes of the agent, and their work at its start. */
export interface SandboxParts extends Sandboxes {
  /** The changes of strict sandboxes. */
  readonly staged: StagedChanges
  /** Removes the files of a killed agent. Call it once, before the first sandbox. */
  recover(): Promise<void>
  /** How this machine bounds sandboxes. */
  readonly limits: () => LimitMechanisms
  /** Tries a sandbox from inside. Never rejects. */
  probe(mode: 'default' | 'strict', from: SandboxProbe): Promise<ProbeResult>
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
  const { active, agentDir, log, onError } = from
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
  const openStore = (name: string): StagedStore =>
    createStagedStore({
      root: join(agentDir, name),
      disk,
      randomName: () => random(16),
      now: from.clock,
      onError,
    })
  const store = openStore('staged')
  const probed = openStore('staged-probe')
  const { uid: ownUid } = userInfo()
  const staged = createStagedChanges({ ...from, store, deniesOf, disk, uid: ownUid })
  const prepareOnce = createPreparation(from, {
    directory,
    bases,
    disk,
    placeholders,
    deniesOf,
    staged: store,
  })
  const prepareWith = (udpPorts: readonly number[]): Promise<PreparedLaunch> =>
    prepareLaunch({
      directory,
      createId: () => random(ID_BYTES),
      startHolder: () => startHolder(from.holderFile ?? holderFile(), udpPorts),
    })
  const spare = createSpareLaunch(
    () => prepareWith(udpPortsOf(active.enforced())),
    (prepare) => void setTimeout(prepare, from.prepareAfterMs ?? PREPARE_AFTER_MS).unref(),
  )
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
      await probed.discardAll()
      await placeholders.recover()
      await recoverCgroups(directory)
      await rm(directory, { recursive: true, force: true })
    },
    probe: (mode, probe) =>
      probeSandbox({
        ...probe,
        strict: mode === 'strict' ? probed : null,
        clock: from.clock,
        temporary: PROBE_PARENT,
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
