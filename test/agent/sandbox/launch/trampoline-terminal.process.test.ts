import { describe, expect, it } from 'vitest'
import { quoteShell } from '../../../../packages/cli/src/terminal/quote-shell.ts'
import { testUsers } from '../fixture/bubblewrap.ts'
import { prepareSandbox } from '../fixture/launch.ts'
import { startTerminal, writeScript, type Terminal } from '../fixture/terminal.ts'

const CTRL_C = '\x03'
const CTRL_Z = '\x1A'
const CTRL_BACKSLASH = '\x1C'

describe.runIf(process.platform === 'linux').each(testUsers())('at a terminal, %s', (user) => {
  /** A command in a sandbox at a terminal of its own. */
  async function run(...command: [string, ...string[]]): Promise<Terminal> {
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    return startTerminal(writeScript(sandbox.directory, sandbox.words(...command)))
  }

  /** The same below an interactive shell, with job control. */
  async function runInShell(...command: [string, ...string[]]): Promise<Terminal> {
    const sandbox = await prepareSandbox(user)
    sandbox.openGate()
    const terminal = startTerminal('env PS1="shell> " bash --norc --noprofile -i')
    await terminal.shows('shell> ')
    terminal.type(`${writeScript(sandbox.directory, sandbox.words(...command))}\n`)
    return terminal
  }

  it('Ctrl-C ends the command as it does outside', async () => {
    // Not a shell: dash loses a signal that arrives while it starts a program.
    const terminal = await run('perl', '-e', '$| = 1; print "ready\\n"; sleep 1000')
    await terminal.shows('ready')

    terminal.type(CTRL_C)

    expect(await terminal.ended).toBe(130)
  })

  it('Ctrl-C and Ctrl-\\ reach a command that handles them, which lives', async () => {
    const script = `trap 'echo interrupted' INT; trap 'echo quit; exit 3' QUIT; echo ready
      while :; do sleep 0.1; done`
    const terminal = await run('sh', '-c', script)
    await terminal.shows('ready')

    terminal.type(CTRL_C)
    await terminal.shows('interrupted')
    terminal.type(CTRL_BACKSLASH)
    await terminal.shows('quit')

    expect(await terminal.ended).toBe(3)
  })

  it('Ctrl-Z stops everything, and fg continues it', async () => {
    const script = `trap 'echo again' CONT; echo ready
      until read -r -t 0.1 line; do :; done; echo "<$line>"; exit 6`
    const terminal = await runInShell('bash', '-c', script)
    await terminal.shows('ready')

    for (let round = 0; round < 3; round += 1) {
      terminal.type(CTRL_Z)
      await terminal.shows('Stopped')
      await terminal.shows('shell> ')
      terminal.type('fg\n')
      await terminal.shows('again')
    }
    terminal.type('word\n')
    await terminal.shows('<word>')
    await terminal.shows('shell> ')
    terminal.type('echo "code $?"; exit\n')
    await terminal.shows('code 6')

    expect(await terminal.ended).toBe(0)
  })

  it('the command sees the size of the terminal change', async () => {
    const script = `trap 'stty size; exit 0' WINCH; echo ready; stty rows 33 cols 91
      while :; do sleep 0.1; done`
    const terminal = await run('sh', '-c', script)
    await terminal.shows('33 91')

    expect(await terminal.ended).toBe(0)
  })

  it('an interactive shell inside has jobs', async () => {
    const terminal = await run('bash', '--norc', '--noprofile', '-i')
    terminal.type('PS1="inside> "; set +o history\n')
    await terminal.shows('inside> ')
    await terminal.shows('inside> ')
    const job = `trap 'echo ag""ain' CONT; echo run""ning; while :; do sleep 0.1; done`
    terminal.type(`sh -c ${quoteShell(job)}\n`)
    await terminal.shows('running')
    terminal.type(CTRL_Z)
    await terminal.shows('Stopped')
    terminal.type('fg\n')
    await terminal.shows('again')
    terminal.type(CTRL_C)
    await terminal.shows('inside> ')
    terminal.type('exit 5\n')

    expect(await terminal.ended).toBe(5)
  })

  it('the command cannot put characters into its input', async () => {
    const EPERM = 1
    const script = `my $c = "x"; print ioctl(STDIN, 0x5412, $c) ? "done\\n" : "error " . ($! + 0)`
    const terminal = await run('perl', '-e', script)

    await terminal.shows(`error ${EPERM}`)
    expect(await terminal.ended).toBe(0)
  })
})
