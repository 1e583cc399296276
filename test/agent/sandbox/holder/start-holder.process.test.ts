import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import { startHolder, type Holder } from '../../../../agent/src/sandbox/holder/start-holder.ts'
import { BUILT_HOLDER } from '../../../built-programs.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')

const holders: Holder[] = []

async function start(): Promise<Holder> {
  const holder = await startHolder(BUILT_HOLDER)
  holders.push(holder)
  return holder
}

/** Runs a command in the namespaces, and returns its status and output. */
async function runInside(
  holder: Pick<Holder, 'pid'>,
  ...command: string[]
): Promise<{ readonly code: number; readonly output: string }> {
  const args = ['-t', String(holder.pid), '-U', '-n', '-p', '-m', '--preserve-credentials', '--']
  try {
    const { stdout, stderr } = await run('nsenter', [...args, ...command], { timeout: 30_000 })
    return { code: 0, output: stdout + stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: stdout + stderr }
  }
}

afterEach(async () => {
  for (const holder of holders) holder.end()
  await Promise.all(holders.splice(0).map(({ ended }) => ended))
})

describe('startHolder', () => {
  it('hands over listeners that the agent serves', async () => {
    const holder = await start()
    holder.listeners.proxy.on('connection', (socket) => {
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
    })
    const { output } = await runInside(holder, 'curl', '-s', 'http://127.0.0.1:3128/')
    expect(output).toBe('hi')
  })

  it.each(['http://192.0.2.1:81/', 'http://[2001:db8::1]:8081/', 'http://10.0.0.1/'])(
    'leads a connection to %s to the capturing listener',
    async (url) => {
      const holder = await start()
      holder.listeners.capture.on('connection', (socket) => {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ncaptured')
      })
      const { output } = await runInside(holder, 'curl', '-sg', url)
      expect(output).toBe('captured')
    },
  )

  it.each(['127.0.0.1', '127.0.0.53', '8.8.8.8'])(
    'leads DNS over UDP to %s to the listener of the agent, and the answer back',
    async (server) => {
      const holder = await start()
      holder.listeners.dnsUdp.on('message', (query, from) => {
        holder.listeners.dnsUdp.send(query, from.port, from.address)
      })
      const script =
        'use IO::Socket::IP; my $s = IO::Socket::IP->new(PeerHost => $ARGV[0], PeerPort => 53,' +
        ' Type => SOCK_DGRAM) or die; $s->send("question"); $s->recv(my $r, 100); print $r'
      const { output } = await runInside(holder, 'perl', '-e', script, server)
      expect(output).toBe('question')
    },
  )

  it('refuses other UDP at once', async () => {
    const holder = await start()
    const script =
      'use IO::Socket::IP; my $s = IO::Socket::IP->new(PeerHost => "192.0.2.1", PeerPort => 443,' +
      ' Type => SOCK_DGRAM) or die; $s->send("x"); alarm 5;' +
      ' defined $s->recv(my $r, 100) or print "refused: $!"'
    const { output } = await runInside(holder, 'perl', '-e', script)
    expect(output).toMatch(/^refused: /)
  })

  it('sees no interface but loopback', async () => {
    const holder = await start()
    const { output } = await runInside(holder, 'ip', '-o', 'link')
    expect(output.trim().split('\n')).toHaveLength(1)
    expect(output).toContain(': lo:')
  })

  it('ends every process in the namespaces', async () => {
    const holder = await start()
    const command = runInside(holder, 'sleep', '1000')
    holder.end()
    await holder.ended
    expect((await command).code).not.toBe(0)
    expect(existsSync(`/proc/${holder.pid}`)).toBe(false)
  })

  it('ends with an agent that is killed', async () => {
    const module = join(ROOT, 'agent/src/sandbox/holder/start-holder.ts')
    const script = `const { startHolder } = await import(${JSON.stringify(module)})
      const holder = await startHolder(${JSON.stringify(BUILT_HOLDER)})
      process.stdout.write(String(holder.pid))`
    const agent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = (await once(agent.stdout, 'data')) as [Buffer]
    const folder = `/proc/${output.toString()}`
    expect(existsSync(folder)).toBe(true)
    agent.kill('SIGKILL')
    await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false)
  })

  it('fails with the reason when the program cannot be run', async () => {
    await expect(startHolder('/nonexistent.mjs')).rejects.toThrow(/has ended: [^]*nonexistent/)
  })
})
