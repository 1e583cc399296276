import { measureCases, type Subject } from '../figures/subject.ts'
import { measureHostile } from './hostile/measure-hostile.ts'
import { measureCreate, measurePoll, measureRead, measureUpdate } from './measure-requests.ts'
import { measureStart } from './measure-start.ts'

const FULL = {
  starts: 7,
  requests: { rounds: 21, warmUp: 15_000, reads: 5_000, writes: 1_000 },
  hostile: { forMs: 10_000, settleMs: 3_000, hugePolicies: 85, devices: 100_000, records: 200_000 },
} as const

/** Too short for the optimizing compiler to settle. */
const QUICK = {
  starts: 2,
  requests: { rounds: 3, warmUp: 1_000, reads: 1_000, writes: 250 },
  hostile: { forMs: 1_000, settleMs: 500, hugePolicies: 10, devices: 2_000, records: 5_000 },
} as const

export const server: Subject = {
  name: 'server',
  about: 'requests beside a bare server, start, a bystander of hostile loads',
  minutes: 12,
  cases: ['start', 'poll', 'update', 'read', 'create', 'hostile'],
  measure(run) {
    const { folder, quick } = run
    const { starts, requests, hostile } = quick ? QUICK : FULL
    return measureCases(run, {
      // First, because some machines slow down under minutes of load.
      start: () => measureStart(folder, starts),
      poll: () => measurePoll(folder, requests),
      update: () => measureUpdate(folder, requests),
      read: () => measureRead(folder, requests),
      create: () => measureCreate(folder, requests),
      hostile: () => measureHostile(run, hostile),
    })
  },
}
