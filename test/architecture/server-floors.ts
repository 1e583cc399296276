import type { Building } from './floors.ts'

/** The rooms of the server, in the order of a request. */
export const SERVER: Building = {
  root: 'server/src/',
  floors: [
    ['main.ts'],
    ['cli'],
    ['start-server.ts', 'index.ts'],
    ['container.ts', 'workers'],
    ['compose-rooms.ts'],
    ['config'],
    ['fleet'],
    ['organizations', 'webhooks', 'events', 'governance', 'views', 'evidence'],
    ['identity'],
    ['http'],
    ['work'],
    ['operations'],
    ['history'],
    ['store'],
    ['platform'],
  ],
}
