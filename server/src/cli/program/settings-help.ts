/** The end of `palisade-server --help`, after the commands: every setting, and examples. */
export const SETTINGS_HELP = `
Settings (environment):
  PALISADE_HOST                  address to listen on (127.0.0.1)
  PALISADE_PORT                  port to listen on, 0 for any free one (8420)
  PALISADE_DATA_DIR              directory of the database (.palisade)
  DATABASE_URL                   postgres://user:password@host/database, instead of the directory
  PALISADE_DATABASE_CONNECTIONS  connections to PostgreSQL that serve reads (10)
  PALISADE_PUBLIC_URL            origin under which devices reach the server (http(s)://host:port)
  PALISADE_TLS_CERT              PEM file of the certificate and those that lead to its authority;
                                 read again when it changes and at SIGHUP (plain HTTP)
  PALISADE_TLS_KEY               PEM file of its key, which others may not read
  PALISADE_ACCESS_TOKEN_MINUTES  life of an access token, 1 to 60 (15)
  PALISADE_DEVICE_TOKEN_MINUTES  life of a device token, 1 to 60 (60)
  PALISADE_OIDC_ISSUER           issuer whose access tokens are accepted for users of the same name,
                                 https URL exactly as in their iss (none)
  PALISADE_OIDC_AUDIENCE         what aud of its tokens must name; required with an issuer
  PALISADE_OIDC_USERNAME_CLAIM   claim that is the username; choose none that users can edit (sub)
  PALISADE_OIDC_TEAMS_CLAIM      claim with names or UUIDs of teams: a user of the issuer is in
                                 exactly these (teams are left alone)
  PALISADE_LOG_LEVEL             fatal, error, warn, info, debug, trace or silent (info)
  PALISADE_TRUST_PROXY           whose X-Forwarded-For is believed: off, addresses and ranges of
                                 proxies, or how many proxies stand in front of a port that
                                 nothing else reaches (off)
  PALISADE_STOP_DELAY_SECONDS    how long to serve after SIGTERM while /readyz answers 503, for
                                 load balancers to notice, 0 to 300 (0)
  PALISADE_WEBHOOK_NETWORKS      addresses and ranges that webhooks may reach besides the public
                                 internet; plain HTTP to loopback ones only (none)
  PALISADE_METRICS               on or off: whether there is /metrics (on)
  PALISADE_METRICS_TOKEN         bearer token that /metrics asks for (none)
  OTEL_EXPORTER_OTLP_ENDPOINT    collector that gets traces by OTLP over HTTP (no traces)
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT  the same, as the whole URL
  OTEL_TRACES_EXPORTER           otlp or none: traces though there is no endpoint, or none (none)
  OTEL_TRACES_SAMPLER_ARG        share of requests that are traced, 0 to 1 (1)
  OTEL_SERVICE_NAME              name of this server in traces (palisade-server)
  PALISADE_LAST_SEEN_SECONDS     last polls of devices are written so often, 0 for never (60)
  PALISADE_OVERLOAD_DELAY_MS     once answers are later than this, some machines are asked to come
                                 back, 0 for never (250)
  PALISADE_HINT_SECONDS          how long a device waits to be told of a change before it asks again,
                                 1 to 50; 0 tells none (50)
  PALISADE_MAX_HINTS             devices that wait to be told; more go by their timetable (20000)
  PALISADE_MAX_HINTS_OF_ORG      those of one organization (10000)
  PALISADE_MAX_POLICIES          policies of an organization (100)
  PALISADE_MAX_RULES             rules of a policy (250)
  PALISADE_MAX_POLICY_BYTES      bytes of a policy as JSON (409600)
  PALISADE_MAX_TOKENS_OF_USER    live personal tokens of a user (1000)
  PALISADE_MAX_TOKENS_OF_ORG     live tokens of an organization (10000)
  PALISADE_MAX_TEAMS             teams of an organization (5000)
  PALISADE_MAX_TEAMS_OF_USER     those of one member; an issuer may name 500 (200)
  PALISADE_MAX_MEMBERS           members of an organization, with invited users (100000)
  PALISADE_MAX_DEVICES           devices of an organization that are not revoked (500000)
  PALISADE_MAX_DEVICES_OF_USER   those of one user (200)
  PALISADE_MAX_OWN_DEVICES       those that a member other than an owner enrols (20)
  PALISADE_MAX_ENROLMENT_TOKENS  live enrolment tokens of an organization (10000)
  PALISADE_MAX_WEBHOOKS          webhooks of an organization (20)
  PALISADE_MAX_WRITES_PER_MINUTE    changes of one caller (30000)
  PALISADE_MAX_OWN_WRITES_PER_HOUR  those that need no permission, such as personal tokens (600)
  PALISADE_HISTORY_DAYS          events of the history are removed after so many days, 0 for never (0)
  PALISADE_MAX_HISTORY_MIB       events of an organization in MiB, 0 for no bound (4096)

Examples:
  $ palisade-server init --org acme --owner alice
  $ palisade-server start
  $ PALISADE_PORT=9000 PALISADE_DATA_DIR=/var/lib/palisade palisade-server start`
