import type { Building } from './floors.ts'

/** The rooms of the agent: what asks stands above what decides. */
export const AGENT: Building = {
  root: 'agent/src/',
  floors: [
    ['main.ts', 'index.ts'],
    ['start-agent.ts'],
    ['container.ts'],
    // The parts of each area, with what they are given.
    ['composition'],
    // Units of systemd, pages of the manual.
    ['service', 'agent.ts'],
    ['log-events.ts'],
    // The socket for `palisade` and other tools, and for sandboxes; reports to the server.
    ['local-api', 'report'],
    // Self-tests of both enforcement points.
    ['probe'],
    ['sandbox'],
    ['proxy'],
    // Access and break-glass; decision records on disk, and their upload.
    ['grants', 'records'],
    // Fetch, verify and store policies; enrolment and hints.
    ['sync'],
    // The contract of an enforcement point.
    ['enforcement'],
    // Decisions, trusted state, local rules, use of grants.
    ['policy'],
    // HTTP that is read in turns.
    ['http'],
    // Settings, process look-up, files, errors.
    ['host'],
  ],
}
