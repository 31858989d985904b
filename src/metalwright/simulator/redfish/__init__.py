"""The Redfish face of a simulated site: resources rendered per request from the truth, over real HTTP and TLS.

`documents` has the shapes every resource shares; one file per family of resources (`systems`, `baseboard`, `chassis` …);
`tree` maps paths to them; `bmc` is what one BMC remembers; `app` speaks HTTP; `server` opens the sockets.
"""
