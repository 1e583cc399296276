import { SANDBOX_HOSTNAME } from '@palisade/protocol'
import { mkdir } from 'node:fs/promises'
import { arch, userInfo } from 'node:os'
import { join } from 'node:path'
import { findSandboxPrograms } from './find-sandbox-programs.ts'
import { holderFile } from './holder/holder-file.ts'
import { HolderError } from './holder/start-holder.ts'
import type { CgroupBases } from './limits/cgroup-bases.ts'
import { loadDestinations } from './network/original-destination.ts'
import type { SandboxEnvironment } from './sandbox-environment.ts'
import type { Architecture } from './seccomp/system-calls.ts'
import type { StartDeps } from './start-sandbox.ts'
import { findClientProgram } from './view/client-program.ts'
import { prepareViewObjects } from './view/view-objects.ts'

const ARCHITECTURES: Readonly<Record<string, Architecture>> = { x64: 'x86_64', arm64: 'aarch64' }

export interface PreparationDeps
  extends
    Pick<StartDeps, 'staged'>,
    Pick<StartDeps['view'], 'deniesOf' | 'disk' | 'hidden' | 'placeholders'> {
  /** The directory of all launches. */
  readonly directory: string
  readonly bases: () => CgroupBases
}

/**
 * Returns a function that finds the programs of the machine and writes the files that all sandboxes
 * share. It does so once, and tries again after a failure: the person may have installed a missing
 * program. It rejects with `HolderError` where no sandbox can be made.
 */
export function createPreparation(
  from: SandboxEnvironment,
  deps: PreparationDeps,
): () => Promise<StartDeps> {
  let prepared: Promise<StartDeps> | null = null
  return () => {
    prepared ??= prepareStart(from, deps).catch((error: unknown) => {
      prepared = null
      throw error
    })
    return prepared
  }
}

async function prepareStart(
  {
    active,
    agentDir,
    clock,
    holderFile: programOfHolder,
    log,
    network,
    serveApi,
    socketPath,
    uptime,
  }: SandboxEnvironment,
  { bases, deniesOf, directory, disk, hidden, placeholders, staged }: PreparationDeps,
): Promise<StartDeps> {
  const architecture = ARCHITECTURES[arch()]
  if (architecture === undefined)
    throw new HolderError(`sandboxes run on x86-64 and ARM64 only, and this is ${arch()}`)
  const programs = findSandboxPrograms()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const destinations = await loadDestinations()
  if (!destinations.ok) throw new HolderError(destinations.problem)
  const user = readUser()
  const objects = await prepareViewObjects(join(agentDir, 'view'), {
    user,
    hostname: SANDBOX_HOSTNAME,
    client: findClientProgram(),
  })
  const privatePaths = [agentDir, socketPath]
  const view = {
    active,
    disk,
    objects,
    placeholders,
    hidden,
    deniesOf,
    privatePaths,
    uptime,
    now: clock,
  }
  return {
    view,
    network: { ...network, findDestination: destinations.find },
    serveApi,
    user,
    architecture,
    programs,
    holderFile: programOfHolder ?? holderFile(),
    bases: bases(),
    staged,
    waiting: new Map(),
    log,
  }
}

/** The user of the agent, as the command sees it. Throws `HolderError` for one without a name. */
function readUser(): StartDeps['user'] {
  try {
    const { username, uid, gid, homedir, shell } = userInfo()
    return { name: username, uid, gid, home: homedir, shell: shell ?? '/bin/sh' }
  } catch (error) {
    const uid = process.geteuid?.()
    throw new HolderError(`the user ${uid} has no entry in /etc/passwd; add one`, { cause: error })
  }
}
