import { realpathSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bundleClaims, policyOf } from '../../fixture/bundle.ts'
import { startSandboxMachine } from '../fixture/machine.ts'

const OPENED = (project: string) =>
  bundleClaims({
    policies: [
      policyOf(
        ['allow', 'read', `${project}/**`, project],
        ['allow', 'write', `${project}/**`, project],
      ),
    ],
  })

/** As servers print their own address, and as people write it. */
const SPELLINGS = [
  'localhost',
  'sandbox',
  '127.0.0.1',
  '127.1',
  '0.0.0.0',
  '0',
  '[::1]',
  '[::]',
  '198.51.100.1',
]
const URLLIB = 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())'
const FETCH = 'fetch(process.argv[1]).then((a) => a.text()).catch(String).then(console.log)'
const CLIENTS = [
  'curl -sS -g --max-time 20',
  'wget -q -O - --tries=1 --timeout=20',
  `/usr/bin/python3 -c '${URLLIB}'`,
  `"$NODE" -e '${FETCH}'`,
]

it('is reached past the proxy by every usual spelling, and no host outside is', async () => {
  const machine = await startSandboxMachine(OPENED)
  const serve = `require("node:http").createServer((_, answer) => answer.end("own ")).listen(8099)`
  const asks = SPELLINGS.flatMap((host) =>
    CLIENTS.map((client) => `${client} 'http://${host}:8099/' 2>&1 || echo 'failed: ${host}'`),
  )
  const script = [
    `"$NODE" -e '${serve}' &`,
    'until curl -s http://127.0.0.1:8099/ >/dev/null; do sleep 0.1; done',
    ...asks,
  ].join('\n')

  // The agent shows its own Node to sandboxes.
  const node = `NODE=${realpathSync(process.execPath)}`
  const { code, stdout, stderr } = await machine.run(['--env', node, '--', 'sh', '-c', script])

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split(/\s+/).filter((word) => word !== '')).toEqual(asks.map(() => 'own'))
  expect(machine.events.filter(({ point }) => point !== 'files')).toEqual([])
  expect(machine.dialled).toEqual([])
})
