import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { encodeSeccompFilter } from '../../../../agent/src/sandbox/seccomp/seccomp-filter.ts'
import { publicNode } from '../../fixture/public-node.ts'
import { asUser, bubblewrap, runCommand, testUsers, type Ended } from '../fixture/bubblewrap.ts'

const architecture = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const FILTER = encodeSeccompFilter(architecture)

const isInstalled = (program: string): boolean =>
  spawnSync(program, ['--version'], { env: { PATH: '/usr/bin:/bin' } }).status === 0

describe.runIf(process.platform === 'linux').each(testUsers())('under the filter, %s', (user) => {
  const run = (...command: string[]): Promise<Ended> =>
    runCommand([...asUser(user), ...bubblewrap(command, { filter: true })], {
      filter: FILTER,
      env: { PATH: '/usr/bin:/bin', HOME: '/run' },
    })
  const runNode = (script: string): Promise<Ended> =>
    run(publicNode(), '--input-type=module', '-e', script)

  it('Node runs child processes, through a shell and with pipes too', async () => {
    const ended = await runNode(`
      import { execSync, spawn } from 'node:child_process'
      process.stdout.write(execSync('echo one | cat').toString())
      const child = spawn(process.execPath, ['-e', 'process.send("two")'],
        { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      child.on('message', (word) => console.log(word))
    `)

    expect(ended).toMatchObject({ code: 0, stdout: 'one\ntwo\n', stderr: '' })
  })

  it('Node serves HTTP on loopback, and fetches', async () => {
    const ended = await runNode(`
      import { createServer } from 'node:http'
      const server = createServer((_, response) => response.end('served'))
      server.listen(0, '127.0.0.1', async () => {
        const answer = await fetch('http://127.0.0.1:' + server.address().port)
        console.log(await answer.text())
        server.close()
      })
    `)

    expect(ended).toMatchObject({ code: 0, stdout: 'served\n', stderr: '' })
  })

  it('Node sends datagrams on loopback', async () => {
    const ended = await runNode(`
      import { createSocket } from 'node:dgram'
      const socket = createSocket('udp4')
      socket.on('message', (text) => { console.log(String(text)); socket.close() })
      socket.bind(0, '127.0.0.1', () => socket.send('sent', socket.address().port, '127.0.0.1'))
    `)

    expect(ended).toMatchObject({ code: 0, stdout: 'sent\n', stderr: '' })
  })

  it('Node runs worker threads', async () => {
    const ended = await runNode(`
      import { Worker } from 'node:worker_threads'
      const code = 'import("node:worker_threads").then((t) => t.parentPort.postMessage("worked"))'
      new Worker(code, { eval: true }).on('message', (word) => console.log(word))
    `)

    expect(ended).toMatchObject({ code: 0, stdout: 'worked\n', stderr: '' })
  })

  it('Node reads and writes files, and lists network interfaces', async () => {
    const ended = await runNode(`
      import { readFile, writeFile } from 'node:fs/promises'
      import { networkInterfaces } from 'node:os'
      await writeFile('/run/file', 'written')
      console.log(await readFile('/run/file', 'utf8'), 'lo' in networkInterfaces())
    `)

    expect(ended).toMatchObject({ code: 0, stdout: 'written true\n', stderr: '' })
  })

  it('Node is refused a Unix socket with an error, and lives', async () => {
    const ended = await runNode(`
      import { createServer } from 'node:net'
      createServer().on('error', ({ code }) => console.log(code)).listen('/run/socket')
    `)

    expect(ended).toMatchObject({ code: 0, stdout: 'EPERM\n', stderr: '' })
  })

  it.runIf(isInstalled('git'))('git makes a repository and commits', async () => {
    const commit = 'git -c user.name=a -c user.email=a@example.com commit -q -m first'
    const ended = await run(
      'sh',
      '-ec',
      `cd /run; git init -q one; cd one; echo a >a; git add a; ${commit}
       git clone -q /run/one /run/two 2>&1; git -C /run/two log --format=%s`,
    )

    expect(ended).toMatchObject({ code: 0, stdout: 'first\n' })
  })

  it.runIf(isInstalled('python3'))('python runs threads and processes', async () => {
    const ended = await run(
      'python3',
      '-c',
      `import multiprocessing, subprocess, threading
t = threading.Thread(target=lambda: print('thread', flush=True)); t.start(); t.join()
p = multiprocessing.Process(target=lambda: print('process', flush=True)); p.start(); p.join()
print(subprocess.run(['echo', 'command'], capture_output=True, text=True).stdout, end='')`,
    )

    expect(ended).toMatchObject({ code: 0, stdout: 'thread\nprocess\ncommand\n' })
  })

  it.runIf(isInstalled('python3'))(
    'python runs pools by fork and by spawn, and none by a fork server',
    async () => {
      const script = `import multiprocessing, sys
if __name__ == '__main__':
    multiprocessing.set_start_method(sys.argv[1])
    with multiprocessing.Pool(1) as pool: print(pool.map(abs, [-1]))`
      const pool = (method: string): Promise<Ended> =>
        run('env', 'TMPDIR=/run', 'python3', '-c', script, method)

      for (const method of ['fork', 'spawn'])
        expect(await pool(method)).toMatchObject({ code: 0, stdout: '[1]\n' })
      const refused = await pool('forkserver')
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('Operation not permitted')
    },
  )

  it.runIf(isInstalled('npm'))('npm runs the script of a package', async () => {
    const manifest = JSON.stringify({ name: 'a', version: '1.0.0', scripts: { hello: 'echo ran' } })
    const ended = await run(
      'sh',
      '-ec',
      `mkdir /run/a; cd /run/a; printf %s "$1" >package.json
       npm run --silent hello; npm pack --silent`,
      'sh',
      manifest,
    )

    expect(ended).toMatchObject({ code: 0, stdout: 'ran\na-1.0.0.tgz\n' })
  })
})
