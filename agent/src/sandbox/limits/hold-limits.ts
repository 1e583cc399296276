import type { LimitMechanisms, SandboxLimits } from '@palisade/protocol'
import { systemErrorCode } from '../../host/errors.ts'
import { HolderError } from '../holder/start-holder.ts'
import type { LaunchDirectory } from '../launch/launch-directory.ts'
import type { ProcessLimits } from '../launch/trampoline.ts'
import type { CgroupBases } from './cgroup-bases.ts'
import type { SandboxBounds } from './sandbox-bounds.ts'
import { formatCgroupList, makeCgroups, OWN_PROCESSES, planCgroups } from './sandbox-cgroups.ts'

/** The kernel does not count the processes of root of the machine, in any namespace. */
export function limitMechanisms(bases: CgroupBases, uid: number): LimitMechanisms {
  const byProcess = uid === 0 ? null : 'rlimit'
  return {
    processes: bases.pids === null ? byProcess : 'cgroup',
    memory: bases.memory === null ? null : 'cgroup',
  }
}

/** `asked` are those that must be held. */
export interface HeldLimits {
  readonly asked: SandboxLimits | undefined
  readonly bounds: SandboxBounds
}

/**
 * Makes the control groups of a sandbox and lists them in its directory first, so that a killed
 * agent leaves no group. Rejects with `HolderError` for a limit that was asked for and cannot be
 * held.
 */
export async function holdLimits(
  { asked = {}, bounds }: HeldLimits,
  { id, directory }: { readonly id: string; readonly directory: Pick<LaunchDirectory, 'write'> },
  { bases, uid }: { readonly bases: CgroupBases; readonly uid: number },
): Promise<ProcessLimits> {
  const mechanisms = limitMechanisms(bases, uid)
  if (asked.processes !== undefined && mechanisms.processes === null) throw cannotHold('processes')
  if (asked.memory_bytes !== undefined && mechanisms.memory === null)
    throw cannotHold('memory', ', or limit each process with `process-memory`')
  const mustEnterCgroups =
    asked.memory_bytes !== undefined || (asked.processes !== undefined && uid === 0)
  const groups = planCgroups(bases, id, bounds)
  if (groups.length > 0) await directory.write('cgroups', formatCgroupList(groups))
  await makeCgroups(groups).catch((error: unknown) => {
    if (mustEnterCgroups)
      throw new HolderError(
        `the control group of the sandbox cannot be made (${systemErrorCode(error) ?? 'unknown'})` +
          '; leave out `--limit`, or run `palisade doctor`',
      )
  })
  return {
    processes: bounds.processes + OWN_PROCESSES,
    files: bounds.files,
    dataBytes: bounds.processMemoryBytes,
    mustEnterCgroups,
  }
}

function cannotHold(name: string, other = ''): HolderError {
  return new HolderError(
    `the limit \`${name}\` cannot be held here: the agent has no control group of its own; run ` +
      `it as a service with \`Delegate=yes\`, leave the limit out${other}`,
  )
}
