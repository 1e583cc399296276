import type { SandboxLimits } from '@palisade/protocol'

/** The limits of one sandbox, with defaults for those that were not asked for. */
export interface SandboxBounds {
  /** Processes and threads of the command. */
  readonly processes: number
  /** All memory of the sandbox; null for the memory of the machine. */
  readonly memoryBytes: number | null
  /** Private writable memory of each process; null without a limit. */
  readonly processMemoryBytes: number | null
  /** Each private directory holds at most this, in memory. */
  readonly privateBytes: number
  /** Files and directories of each private directory, which take memory of the kernel. */
  readonly privateEntries: number
  /** Open files of each process. */
  readonly files: number
}

/** Above those of builds of large projects. */
const DEFAULT_PROCESSES = 4_096
const DEFAULT_PRIVATE_BYTES = 1024 ** 3
const DEFAULT_FILES = 65_536
/** An empty file takes about 1 KiB of the kernel, so this quarters the size at most. */
const BYTES_PER_ENTRY = 4_096

export function boundsOf(asked: SandboxLimits = {}): SandboxBounds {
  const privateBytes = asked.tmp_bytes ?? DEFAULT_PRIVATE_BYTES
  return {
    processes: asked.processes ?? DEFAULT_PROCESSES,
    memoryBytes: asked.memory_bytes ?? null,
    processMemoryBytes: asked.process_memory_bytes ?? null,
    privateBytes,
    privateEntries: Math.ceil(privateBytes / BYTES_PER_ENTRY),
    files: asked.files ?? DEFAULT_FILES,
  }
}
