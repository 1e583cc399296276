import { spawn } from 'node:child_process'
import { chmodSync, openSync, closeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand, testUsers, type Ended } from '../fixture/bubblewrap.ts'
import {
  closingDescriptors,
  prepareSandbox,
  PROGRAMS,
  type TestSandbox,
} from '../fixture/launch.ts'

const SIGKILL = 9
const REFUSED = 125

/** Runs a command to its end in a sandbox whose gate is open. */
async function run(sandbox: TestSandbox, ...command: [string, ...string[]]): Promise<Ended> {
  sandbox.openGate()
  return runCommand(sandbox.words(...command), { env: {} })
}

interface StartOptions {
  readonly detached?: boolean
  /** Descriptors from 3 on. */
  readonly extra?: readonly ('ignore' | number)[]
}

/** Starts a command; `ready` is when it has written a line. */
function start(words: readonly string[], options: StartOptions = {}) {
  const [program = '', ...args] = words
  const { promise: ended, resolve } = Promise.withResolvers<Ended>()
  const { detached = false, extra = [] } = options
  const child = spawn(program, args, {
    env: {},
    detached,
    stdio: ['ignore', 'pipe', 'pipe', ...extra],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  child.once('close', (code, signal) => resolve({ code, signal, ...output }))
  return { child, ended, ready: () => expect.poll(() => output.stdout).toContain('\n') }
}

describe.runIf(process.platform === 'linux').each(testUsers())('the trampoline, as %s', (user) => {
  it('passes the words of a command on as they are', async () => {
    const words = ['a b', '', '$(id)', "'", '"', '\\', '-n', 'a=b', '*', 'two\nlines', 'ü']

    const ended = await run(await prepareSandbox(user), 'printf', '<%s>', ...words)

    const stdout = words.map((word) => `<${word}>`).join('')
    expect(ended).toEqual({ code: 0, signal: null, stdout, stderr: '' })
  })

  it.each([
    ['its code', 'exit 7', 7],
    ['success', 'exit 0', 0],
    ['128 + 15 after SIGTERM', 'kill -TERM $$', 143],
    ['128 + 9 after SIGKILL', 'kill -KILL $$', 137],
    ['128 + 2 after SIGINT', 'kill -INT $$', 130],
  ])('ends with %s', async (_name, script, code) => {
    expect(await run(await prepareSandbox(user), 'sh', '-c', script)).toMatchObject({
      code,
      stderr: '',
    })
  })

  it('ends with 127 for a program that is not there, and 126 for one that cannot run', async () => {
    const missing = await run(await prepareSandbox(user), 'no-such-program')
    const data = await run(await prepareSandbox(user), '/etc/os-release')

    expect(missing.code).toBe(127)
    expect(missing.stderr).toContain('no-such-program')
    expect(data.code).toBe(126)
    expect(data.stderr).toContain('/etc/os-release')
  })

  it('gives the command default signals, only three descriptors, and its input', async () => {
    const sandbox = await prepareSandbox(user)
    const script = 'grep -E "^Sig(Ign|Blk)" /proc/self/status; ls /proc/self/fd; cat'

    const ended = await run(sandbox, 'sh', '-c', script)

    const zero = '0000000000000000'
    const stdout = `SigBlk:\t${zero}\nSigIgn:\t${zero}\n0\n1\n2\n3\n`
    expect(ended).toEqual({ code: 0, signal: null, stdout, stderr: '' })
  })

  it.each([8, 9])('closes descriptor %i before the command', async (number) => {
    const { ended } = await startWithFile(number)

    expect(await ended).toMatchObject({ code: 0, stdout: '0\n1\n2\n3\n' })
  })

  it('refuses a descriptor that a shell cannot close', async () => {
    const { ended } = await startWithFile(12)

    expect(await ended).toMatchObject({ code: REFUSED, stdout: '' })
    expect((await ended).stderr).toMatch(/^palisade: descriptor \/proc\/\d+\/fd\/12 is open/)
  })

  /** Lists the descriptors inside of a command that is started with one more. */
  async function startWithFile(number: number) {
    const file = openSync('/etc/os-release', 'r')
    onTestFinished(() => closeSync(file))
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    const words = [...closingDescriptors(number), ...sandbox.bareWords('ls', '/proc/self/fd')]
    const between = Array.from({ length: number - 3 }, () => 'ignore' as const)
    return start(words, { extra: [...between, file] })
  }

  it('keeps variables out of the environment that other processes can read', async () => {
    const variables = new Map([
      ['PATH', '/usr/bin:/bin'],
      ['TOKEN', 'secret'],
    ])
    const sandbox = await prepareSandbox(user, { variables })

    const ended = await run(sandbox, 'sh', '-c', 'echo $TOKEN; tr "\\0" "\\n" </proc/1/environ')

    expect(ended.stdout).toMatch(/^secret\n/)
    expect(ended.stdout.slice('secret\n'.length)).not.toContain('secret')
  })

  it('filters the first process of the sandbox too, which has no capabilities', async () => {
    const script = 'grep -hE "^(Seccomp|CapEff|NoNewPrivs):" /proc/1/status /proc/self/status'

    const { stdout } = await run(await prepareSandbox(user), 'sh', '-c', script)

    const status = 'CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n'
    expect(stdout).toBe(status.repeat(2))
  })

  it('starts the command when the gate opens, not before', async () => {
    const sandbox = await prepareSandbox(user)
    const { child, ended } = start(sandbox.words('echo', 'started'))
    await expect.poll(() => sandbox.isRunning()).toBe(true)
    const written: string[] = []
    child.stdout?.on('data', (text: string) => written.push(text))
    await new Promise((resolve) => setTimeout(resolve, 300))
    const before = written.join('')

    sandbox.openGate()

    expect(await ended).toMatchObject({ code: 0, stdout: 'started\n' })
    expect(before).toBe('')
    await expect.poll(() => sandbox.isRunning()).toBe(false)
  })

  it.each(['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGINT', 'SIGQUIT'] as const)(
    'passes %s on to the command, and waits for its end',
    async (signal) => {
      const sandbox = await prepareSandbox(user)
      sandbox.openGate()
      const name = signal.slice('SIG'.length)
      const script = `trap 'echo ${name}; exit 9' ${name}; echo ready; while :; do sleep 0.1; done`
      const { child, ended, ready } = start(sandbox.words('sh', '-c', script))
      await ready()

      child.kill(signal)

      expect(await ended).toMatchObject({ code: 9, stdout: `ready\n${name}\n` })
    },
  )

  it('passes on a signal that the command survives, as often as it comes', async () => {
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    const script = `n=0; trap 'n=$((n+1)); echo $n' USR1; trap 'exit 4' TERM; echo ready
      while :; do sleep 0.1; done`
    const { child, ended, ready } = start(sandbox.words('sh', '-c', script))
    await ready()
    let stdout = ''
    child.stdout?.on('data', (text: string) => (stdout += text))

    for (const count of [1, 2, 3]) {
      child.kill('SIGUSR1')
      await expect.poll(() => stdout).toContain(`${count}\n`)
    }
    child.kill('SIGTERM')

    expect((await ended).code).toBe(4)
  })

  it('ends with the code of a command that ends while a signal is passed on', async () => {
    const sandbox = await prepareSandbox(user)
    const slow = join(sandbox.directory, 'slow')
    sandbox.write('slow', '#!/bin/sh\necho ready; sleep 0.3; exit 3\n')
    chmodSync(slow, 0o755)
    const words = sandbox.words('true')
    const { child, ended, ready } = start(
      words.map((word) => (word === PROGRAMS.nsenter ? slow : word)),
    )
    await ready()

    child.kill('SIGTERM')

    expect(await ended).toMatchObject({ code: 3, signal: null })
  })

  it('ends the sandbox at a signal that comes before the command', async () => {
    const sandbox = await prepareSandbox(user)
    const { child, ended } = start(sandbox.words('echo', 'started'))
    await expect.poll(() => sandbox.isRunning()).toBe(true)

    child.kill('SIGTERM')

    expect(await ended).toMatchObject({ stdout: '' })
    expect((await ended).code).not.toBe(0)
    await expect.poll(() => sandbox.isRunning()).toBe(false)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'ends at %s when the command has stopped the first process of its sandbox',
    async (signal) => {
      const sandbox = await prepareSandbox(user)
      sandbox.openGate()
      // Attach, and detach with SIGSTOP: the kernel ignores that signal from the sandbox itself.
      const ptrace = process.arch === 'arm64' ? 117 : 101
      const stop =
        `syscall(${ptrace}, 16, 1, 0, 0) == 0 or die "not attached"; waitpid(1, 0x40000000); ` +
        `syscall(${ptrace}, 17, 1, 0, 19) == 0 or die "not detached"; print "ready\\n"`
      const { child, ended, ready } = start(sandbox.words('perl', '-e', stop))
      await ready()

      // The first one may still reach the command.
      const repeated = setInterval(() => child.kill(signal), 500)
      onTestFinished(() => clearInterval(repeated))

      expect((await ended).code).toBe(128 + SIGKILL)
      await expect.poll(() => sandbox.isRunning()).toBe(false)
    },
  )

  it('takes the command with it when it is killed', async () => {
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    const script = 'trap "" TERM HUP INT; echo ready; while :; do sleep 0.1; done'
    const { child, ended, ready } = start(sandbox.words('sh', '-c', script))
    await ready()

    child.kill('SIGKILL')

    expect((await ended).signal).toBe('SIGKILL')
    await expect.poll(() => sandbox.isRunning()).toBe(false)
  })

  it('ends when the namespaces of the holder end', async () => {
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    const { ended, ready } = start(sandbox.words('sh', '-c', 'echo ready; sleep 1000'))
    await ready()

    sandbox.endHolder()

    expect((await ended).code).toBe(128 + SIGKILL)
    await expect.poll(() => sandbox.isRunning()).toBe(false)
  })

  it('says why the agent ended a sandbox, and ends with 125', async () => {
    const sandbox = await prepareSandbox(user)
    const { ended } = start(sandbox.words('echo', 'started'))
    await expect.poll(() => sandbox.isRunning()).toBe(true)

    sandbox.write('refusal', 'the mounts changed\nrun it again')
    sandbox.endHolder()

    const stderr = 'palisade: the mounts changed\npalisade: run it again\n'
    expect((await ended).code).toBe(REFUSED)
    expect((await ended).stderr).toContain(stderr)
    expect((await ended).stdout).toBe('')
  })

  it('refuses a launch whose files are gone', async () => {
    const sandbox = await prepareSandbox(user)
    const words = sandbox.words('true').map((word) => word.replace(sandbox.directory, '/nowhere'))

    const ended = await runCommand(words, { env: {} })

    expect(ended).toMatchObject({ code: REFUSED, stdout: '' })
    expect(ended.stderr).toMatch(/^palisade: the agent has withdrawn this sandbox/)
  })

  it('gives the command without a terminal a session of its own', async () => {
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    const caller = ['sh', '-c', '"$@"; echo $?', 'sh']
    const { ended } = start([...caller, ...sandbox.words('sh', '-c', 'kill -KILL 0')], {
      detached: true,
    })

    expect(await ended).toMatchObject({ code: 0, stdout: `${128 + SIGKILL}\n` })
  })
})
