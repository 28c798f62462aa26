-- What connectors, artifacts, search keys and operations need.

select;  -- nothing yet
