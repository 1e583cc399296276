import { measureCases, type Subject } from '../figures/subject.ts'
import { withMachine } from '../machine/machine.ts'
import { measureClient } from './measure-client.ts'
import { measureRequests } from './measure-requests.ts'
import { measureStart } from './measure-start.ts'
import { withSandboxMachine } from './sandbox-machine.ts'

const FULL = { starts: 15, rounds: 5, connections: 2_000, requests: 20_000 } as const
const QUICK = { starts: 2, rounds: 1, connections: 200, requests: 1_000 } as const

export const sandbox: Subject = {
  name: 'sandbox',
  about: 'start of `palisade` and of sandboxes beside others, requests inside; Linux',
  minutes: 4,
  cases: ['client', 'start', 'requests'],
  measure(run) {
    if (process.platform !== 'linux')
      throw new Error(`sandboxes are made on Linux only, and this is ${process.platform}`)
    const { starts, ...requests } = run.quick ? QUICK : FULL
    return withMachine(run.folder, (enrolled) =>
      withSandboxMachine(enrolled, run.folder, (machine) =>
        measureCases(run, {
          client: () => measureClient(machine, run.folder, starts),
          start: () => measureStart(machine, run, starts),
          requests: () => measureRequests(machine, requests),
        }),
      ),
    )
  },
}
