import { pathDenies } from '@palisade/policy-core'
import type { LimitMechanisms, ProbeResult } from '@palisade/protocol'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { followPolicy } from '../sandbox/follow-policy.ts'
import { holderFile } from '../sandbox/holder/holder-file.ts'
import { startHolder } from '../sandbox/holder/start-holder.ts'
import {
  createCgroupDisk,
  findCgroupBases,
  type CgroupBases,
} from '../sandbox/limits/cgroup-bases.ts'
import { limitMechanisms } from '../sandbox/limits/hold-limits.ts'
import { recoverCgroups } from '../sandbox/limits/sandbox-cgroups.ts'
import { prepareLaunch, type PreparedLaunch } from '../sandbox/launch/prepare-launch.ts'
import { createSpareLaunch } from '../sandbox/launch/spare-launch.ts'
import { udpPortsOf } from '../sandbox/network/udp-ports.ts'
import { probeSandbox, type SandboxProbe } from '../probe/sandbox/probe-sandbox.ts'
import { createSandboxes, type Sandboxes } from '../sandbox/sandboxes.ts'
import { createStagedChanges, type StagedChanges } from '../sandbox/staged/staged-changes.ts'
import { createStagedStore, type StagedStore } from '../sandbox/staged/staged-store.ts'
import { startSandbox } from '../sandbox/start-sandbox.ts'
import { createViewDisk } from '../sandbox/view/disk.ts'
import { HiddenObjects } from '../sandbox/view/hidden-objects.ts'
import { createPlaceholderJournal } from '../sandbox/view/placeholder-journal.ts'
import { createPlaceholders } from '../sandbox/view/placeholders.ts'
import { createDeniesReader } from '../sandbox/view/view-plan.ts'
import { createPreparation } from '../sandbox/prepare-start.ts'
import type { SandboxEnvironment } from '../sandbox/sandbox-environment.ts'

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

/** Loads and prepares the parts of sandboxes when the first one is asked for. */
export function composeSandboxes(from: SandboxEnvironment): SandboxParts {
  const { active, agentDir, uptime, clock, graceMs = GRACE_MS, log, onError } = from
  const directory = join(agentDir, 'sandboxes')
  const random = (bytes: number): string => randomBytes(bytes).toString('hex')
  // The user may have no entry in /etc/passwd, which `userInfo` needs.
  const uid = process.geteuid?.() ?? -1
  const randomName = (): string => random(16)
  const journal = createPlaceholderJournal(join(agentDir, 'placeholders.jsonl'))
  const placeholders = createPlaceholders({ journal, randomName })
  let foundBases: CgroupBases | null = null
  const bases = (): CgroupBases =>
    (foundBases ??= findCgroupBases({
      disk: createCgroupDisk(),
      pid: process.pid,
      uid,
      probe: `palisade-${random(ID_BYTES)}`,
    }))
  const deniesOf = createDeniesReader(pathDenies)
  const disk = createViewDisk()
  const hidden = new HiddenObjects({ file: join(agentDir, 'hidden-objects.json'), disk, log })
  const openStore = (name: string): StagedStore =>
    createStagedStore({ root: join(agentDir, name), disk, randomName, now: clock, onError })
  const store = openStore('staged')
  const probed = openStore('staged-probe')
  const staged = createStagedChanges({ active, store, deniesOf, disk, uid, uptime, onError })
  const prepareOnce = createPreparation(from, {
    directory,
    bases,
    disk,
    placeholders,
    hidden,
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
  const stopFollowing = followPolicy({ active, sandboxes, deniesOf, graceMs, log, onError })

  return {
    startSandbox: sandboxes.startSandbox,
    all: sandboxes.all,
    limits: () => limitMechanisms(bases(), uid),
    staged,
    async recover() {
      await store.recover()
      await probed.discardAll()
      await placeholders.recover()
      await recoverCgroups(directory)
      await rm(directory, { recursive: true, force: true })
    },
    probe: (mode, { canaries, token }) =>
      probeSandbox({
        canaries,
        token,
        strict: mode === 'strict' ? probed : null,
        clock,
        temporary: PROBE_PARENT,
        start: prepareOnce,
        // Not the spare one, which a person may ask for meanwhile.
        takeLaunch: () => prepareWith([]),
      }),
    async stop() {
      stopFollowing()
      await sandboxes.stop()
      await hidden.saved()
      await spare.stop()
    },
  }
}
