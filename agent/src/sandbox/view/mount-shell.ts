import type { ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { MountCommand, MountDialect } from './mount-dialect.ts'

/** Runs mounts in the view of a running sandbox. */
export interface MountShell {
  /**
   * Hides a path of the view, or makes it read-only. Resolves with false when the path cannot be
   * mounted on: it is gone, or is of another kind. Rejects when the shell has ended.
   */
  mount(command: MountCommand): Promise<boolean>
  /**
   * Limits the files and directories of a private file system. Resolves with false when the kernel
   * refuses, such as for fewer than it has. Rejects when the shell has ended.
   */
  limitEntries(target: string, entries: number): Promise<boolean>
  /**
   * Lets the shell end, and at the latest with its namespaces. nsenter(1) is not killed: its child
   * would go to the first process of the machine, and the kernel ends the namespaces only when that
   * has taken it, which the first process of many containers never does.
   */
  close(): void
  /** Whether the process still runs. */
  readonly isAlive: boolean
}

export interface MountShellDeps {
  readonly spawn: typeof spawn
  readonly dialect: MountDialect
  /** The process that keeps the outer user namespace. */
  readonly holderPid: number
  /** A process of the sandbox, by its id in the process namespace of the holder. */
  readonly childPid: number
}

/** Fixed, because the environment of the agent could name other programs. */
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
const MAX_ANSWER = 4096

/**
 * Starts a shell that entered the outer user namespace and then the mount namespace of the sandbox.
 * The user namespace of the sandbox itself gives no right to mount there.
 *
 * It stays, because starting the processes for every mask would take most of the time of one.
 */
export function openMountShell({
  spawn,
  dialect,
  holderPid,
  childPid,
}: MountShellDeps): MountShell {
  const outer = ['-t', String(holderPid), '-U', '-m', '-p', '--preserve-credentials', '--']
  const inner = ['nsenter', '-t', String(childPid), '-m', '--']
  const child = spawn('nsenter', [...outer, ...inner, ...dialect.command], {
    env: ENVIRONMENT,
    stdio: 'pipe',
  })
  return new ResidentShell(child, dialect)
}

interface Waiting {
  readonly resolve: (isDone: boolean) => void
  readonly reject: (error: Error) => void
}

class ResidentShell implements MountShell {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #dialect: MountDialect
  readonly #waiting: Waiting[] = []
  #answer = ''
  #end: Error | null = null

  constructor(child: ChildProcessWithoutNullStreams, dialect: MountDialect) {
    this.#child = child
    this.#dialect = dialect
    child.on('error', (error) => this.#fail(error))
    child.on('exit', () => this.#fail(new Error('the mount shell has ended')))
    child.stdin.on('error', (error) => this.#fail(error))
    child.stdout.setEncoding('latin1').on('data', (text: string) => this.#read(text))
    child.stderr.resume()
  }

  get isAlive(): boolean {
    return this.#end === null
  }

  mount(command: MountCommand): Promise<boolean> {
    return this.#ask(this.#dialect.format(command))
  }

  limitEntries(target: string, entries: number): Promise<boolean> {
    return this.#ask(this.#dialect.formatEntries(target, entries))
  }

  #ask(line: string): Promise<boolean> {
    if (this.#end !== null) return Promise.reject(this.#end)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#child.stdin.write(line)
    })
  }

  close(): void {
    this.#child.stdin.end()
    this.#fail(new Error('the mount shell is closed'))
  }

  #read(text: string): void {
    this.#answer += text
    const lines = this.#answer.split('\n')
    this.#answer = lines.pop() ?? ''
    for (const line of lines) {
      if (!/^\d{1,3}$/.test(line)) return this.#fail(new Error('the mount shell answers wrongly'))
      this.#waiting.shift()?.resolve(line === '0')
    }
    if (this.#answer.length > MAX_ANSWER) this.#fail(new Error('the mount shell answers wrongly'))
  }

  #fail(error: Error): void {
    this.#end ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(this.#end)
  }
}
